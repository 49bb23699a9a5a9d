"""A report as Markdown."""

import re
from collections.abc import Sequence

from .blocks import (
    Banner,
    Block,
    Bullets,
    Details,
    Figures,
    Footer,
    PageOnly,
    Preformatted,
    Problems,
    Report,
    Section,
    Sentence,
    Table,
)
from .tables import table
from .text import Code, Text, VerdictWord, clean, harmless


def markdown(report: Report) -> str:
    """The whole report, without pictures."""
    title = inline(clean(report.title))
    body = _body(report.shown, 2)
    return join([f"# {title}", body]) + "\n"


def _block(block: Block, level: int) -> str:
    match block:
        case Banner(sentence, status=status):
            return join([f"**{inline(sentence)}**", inline(status)])
        case Problems():
            return problems(block)
        case Sentence(text):
            return inline(text)
        case Bullets(lines):
            return bullets(lines)
        case Table():
            return as_table(block)
        case Preformatted(text):
            return _fenced(harmless(text))
        case Figures(numbers=numbers):
            return _body(list(numbers.values()), level)
        case Details(long=True):
            return ""
        case Details(title, blocks) | Section(title, blocks):
            return heading(title, _body(blocks, level + 1), level)
        case PageOnly(blocks) | Footer(blocks):
            return _body(blocks, level)


def _fenced(text: str) -> str:
    """The text as a block of code, whose fence is longer than any run of backticks in it."""
    length = max(3, 1 + _longest_run_of_backticks(text))
    fence = "`" * length
    return f"{fence}\n{text}\n{fence}"


def _longest_run_of_backticks(text: str) -> int:
    runs = re.findall("`+", text)
    return max(map(len, runs), default=0)


def _body(blocks: Sequence[Block], level: int) -> str:
    return join([_block(block, level) for block in blocks])


def join(parts: Sequence[str]) -> str:
    """The parts that are not empty, with a blank line between them."""
    stripped = [part.strip("\n") for part in parts]
    return "\n\n".join(part for part in stripped if part.strip())


def heading(title: str, body: str, level: int = 2) -> str:
    """A heading over a body; nothing without a body."""
    if not body.strip():
        return ""
    hashes = "#" * level
    return f"{hashes} {inline(clean(title))}\n\n{body}"


def problems(block: Problems) -> str:
    """A list of the problems below their headline."""
    headline = ""
    if block.headline:
        headline = f"**{inline(block.headline)}**"
    lines = [f"PROBLEM: {clean(line)}" for line in block.lines]
    return join([headline, bullets(lines)])


def bullets(lines: Sequence[Text]) -> str:
    return "\n".join(f"- {inline(line)}" for line in lines)


def as_table(content: Table) -> str:
    if not content.rows:
        return ""
    return table(headers(content), cells(content), content.align)


def headers(content: Table) -> list[str]:
    return [inline(header) for header in content.headers]


def cells(content: Table) -> list[list[str]]:
    """The rows of a table as Markdown text."""
    rows = []
    for row in content.rows:
        rows.append([inline(cell) for cell in row])
    return rows


def inline(text: Text) -> str:
    """Text of any kind as Markdown."""
    if not isinstance(text, str):
        return "".join(map(inline, text))
    safe = harmless(text)
    if isinstance(text, VerdictWord):
        return safe
    if isinstance(text, Code) and safe:
        return _code(safe)
    # Only the start of a tag or a link is escaped, so that the terminal shows few backslashes.
    return re.sub(r"<(?=[a-zA-Z/!?])|(?<=\])(?=[(\[])", r"\\\g<0>", safe)


def _code(text: str) -> str:
    """The text as inline code, between more backticks than any run in it."""
    fence = "`" * (1 + _longest_run_of_backticks(text))
    if text.startswith("`") or text.endswith("`"):
        text = f" {text} "
    return f"{fence}{text}{fence}"
