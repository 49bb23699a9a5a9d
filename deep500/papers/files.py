"""The folder that `d5 report --figures` writes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import Deep500Error
from ..reports.blocks import (
    Block,
    Details,
    Figures,
    Footer,
    PageOnly,
    Picture,
    Report,
    Section,
    Table,
)
from ..reports.figure_files import kept_figures
from ..reports.latex import latex_table
from ..reports.markdown import as_table
from .appendix import AnyRecord, appendix
from .evaluation import evaluation_sentences


def write_figures(record: AnyRecord, report: Report, folder: Path) -> list[Path]:
    """Write every picture, table, the sentences and the appendix; raises a Deep500Error if the folder is in use."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Deep500Error(f"{folder} is not empty: choose another folder")
        written = []
        for name, content in _contents(record, report):
            path = folder / name
            path.write_bytes(content)
            written.append(path)
    except OSError as error:
        raise Deep500Error(f"{folder} cannot be written: {error.strerror}") from None
    return written


def _contents(record: AnyRecord, report: Report) -> Iterator[tuple[str, bytes]]:
    yield from _pictures(report)
    tables = [block for block in _all(report.blocks) if isinstance(block, Table)]
    shown = [table for table in tables if table.rows]
    for number, table in enumerate(shown, 1):
        yield f"table-{number}.tex", latex_table(table).encode()
        yield f"table-{number}.md", (as_table(table) + "\n").encode()
    sentences = "\n".join(evaluation_sentences(record))
    yield "evaluation.txt", (sentences + "\n").encode()
    yield "appendix.md", appendix(record).encode()


def _pictures(report: Report) -> Iterator[tuple[str, bytes]]:
    """Every picture as SVG with its caption, and in the forms that were kept while it was drawn."""
    for figures in _all(report.blocks):
        if not isinstance(figures, Figures):
            continue
        with kept_figures() as kept:
            pictures: Sequence[Picture] = figures.draw()
        wide = {each.name: each.contents for each in reversed(kept)}
        for picture in pictures:
            yield f"{picture.name}.svg", picture.svg.encode()
            yield f"{picture.name}.txt", (picture.caption + "\n").encode()
            for ending, content in wide.get(picture.name, {}).items():
                yield f"{picture.name}.{ending}", content


def _all(blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks and those within them, in order."""
    for block in blocks:
        yield block
        if isinstance(block, Section | Details | PageOnly | Footer):
            yield from _all(block.blocks)
