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
from .text import Code, Text, Verdict, clean, harmless


def markdown(report: Report) -> str:
    """The whole report, without pictures."""
    return (
        join(
            [f"# {inline(clean(report.title))}", *(_block(b, 2) for b in report.shown)]
        )
        + "\n"
    )


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
    """A block of code whose fence is longer than any in it."""
    fence = "`" * max(3, 1 + _longest_run_of_backticks(text))
    return f"{fence}\n{text}\n{fence}"


def _longest_run_of_backticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _body(blocks: Sequence[Block], level: int) -> str:
    return join([_block(block, level) for block in blocks])


def join(parts: Sequence[str]) -> str:
    """The parts that say something, a blank line between them."""
    stripped = [part.strip("\n") for part in parts]
    return "\n\n".join(part for part in stripped if part.strip())


def heading(title: str, body: str, level: int = 2) -> str:
    return f"{'#' * level} {inline(clean(title))}\n\n{body}" if body.strip() else ""


def problems(block: Problems) -> str:
    headline = f"**{inline(block.headline)}**" if block.headline else ""
    return join(
        [headline, bullets([f"PROBLEM: {clean(line)}" for line in block.lines])]
    )


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
    if not isinstance(text, str):
        return "".join(map(inline, text))
    if isinstance(text, Verdict):
        return harmless(text)
    is_code, text = isinstance(text, Code), harmless(text)
    if is_code and text:
        fence = "`" * (1 + _longest_run_of_backticks(text))
        pad = " " if text[:1] == "`" or text[-1:] == "`" else ""
        return f"{fence}{pad}{text}{pad}{fence}"
    # Only what could become HTML or a link is escaped, so that the terminal shows few backslashes.
    return re.sub(
        r"<(?=[a-zA-Z/!?])|(?<=\])(?=[(\[])", lambda found: "\\" + found[0], text
    )
