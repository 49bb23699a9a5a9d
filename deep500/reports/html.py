"""A report as one self-contained HTML page: no script, nothing from outside, everything from data escaped."""

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
from .markup import (
    alarm,
    banner,
    bullets,
    details,
    escaped,
    figure,
    inline,
    page,
    section,
    table,
)


def html(report: Report) -> str:
    """The whole report as a page."""
    return page(report.kicker, report.title, _blocks(report.shown, 2))


def _blocks(blocks: Sequence[Block], level: int) -> str:
    return "".join(_block(block, level) for block in blocks)


def _block(block: Block, level: int) -> str:
    match block:
        case Banner():
            return banner(block)
        case Problems(lines, headline):
            return alarm(lines, headline)
        case Sentence(text):
            sentence = inline(text)
            return f"<p>{sentence}</p>" if sentence else ""
        case Bullets(lines):
            return bullets(lines)
        case Table():
            return table(block)
        case Preformatted(text):
            return f"<pre>{escaped(text)}</pre>"
        case Figures():
            return _figures(block)
        case Details(summary, blocks):
            return details(summary, _blocks(blocks, level + 1))
        case Section(title, blocks):
            return section(title, _blocks(blocks, level + 1), level)
        case PageOnly(blocks):
            return _blocks(blocks, level)
        case Footer(blocks):
            return f"<footer>{_blocks(blocks, level)}</footer>"


def _figures(block: Figures) -> str:
    figures = []
    for picture in block.draw():
        details_of_numbers = ""
        if numbers := block.numbers.get(picture.name):
            details_of_numbers = _block(numbers, 4)
        figures.append(figure(picture, details_of_numbers))
    return "".join(figures)
