"""Reading an HTML page back: its elements, its tables, its text."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input"}


@dataclass
class Page(HTMLParser):
    """What a page holds; `faults` lists tags that are not closed in order."""

    source: str
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.feed(self.source)
        self.close()
        self.faults += [f"{tag} is never closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag in ("h1", "h2", "h3"):
            self.headings.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"{tag} closes something else")

    def handle_data(self, data: str) -> None:
        if "style" in self.open and "svg" not in self.open:
            return
        self.text += data.replace("\u00a0", " ")
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data.replace("\u00a0", " ")
        if self.open and self.open[-1] in ("h1", "h2", "h3"):
            self.headings[-1] += data

    def table(self, header: str) -> list[list[str]]:
        """The rows of the first table that has such a header."""
        return next(
            rows for rows in self.tables if any(header in cell for cell in rows[0])
        )
