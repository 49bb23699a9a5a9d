"""A report for the terminal: its short form, in tables that fit the screen.

Away from a terminal (a pipe, a file) the text is the same on every machine: Markdown tables, at most WIDTH columns.
On a terminal, `rich` draws the tables.
"""

import io
import shutil
import sys
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
from .markdown import bullets, cells, headers, heading, inline, join, problems
from .tables import fitted, table
from .text import harmless

WIDTH = 100


def terminal(report: Report, drawn: bool | None = None) -> str:
    """The short form; `drawn` says whether `rich` draws the tables (by default, if standard output is a terminal)."""
    return blocks_text(report.shown, drawn)


def blocks_text(blocks: Sequence[Block], drawn: bool | None = None) -> str:
    """Some blocks as text, as in a report."""
    if drawn is None:
        drawn = sys.stdout.isatty()
    return join([_block(block, drawn) for block in blocks])


def _block(block: Block, styled: bool) -> str:
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
            return table_text(block, styled)
        case Preformatted(text):
            return harmless(text)
        case Section(title, blocks, quiet):
            body = blocks_text(blocks, styled)
            if quiet:
                return body
            return heading(title, body)
        case Footer(blocks):
            return blocks_text(blocks, styled)
        case Figures() | Details() | PageOnly():
            return ""


def table_text(content: Table, styled: bool = False) -> str:
    """A table in at most WIDTH columns; a wider one becomes several, or one list per row."""
    if not content.rows:
        return ""
    width = WIDTH
    if styled:
        screen = shutil.get_terminal_size((WIDTH, 0))
        width = min(WIDTH, screen.columns)
    parts = fitted(headers(content), cells(content), content.align, width)
    draw = _drawn if styled else table
    return join([draw(*part) for part in parts])


def _drawn(headers: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    """The table as rich draws it, with rules instead of Markdown's bars."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    align = align.ljust(len(headers), "l")
    for header, side in zip(headers, align, strict=True):
        drawn.add_column(RichText(header), justify="right" if side == "r" else "left")
    for row in rows:
        drawn.add_row(*map(RichText, row))
    console = Console(file=io.StringIO(), width=WIDTH, force_terminal=True)
    with console.capture() as captured:
        console.print(drawn)
    return captured.get()
