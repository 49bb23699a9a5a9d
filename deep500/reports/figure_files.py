"""Pictures as files for a paper: SVG, PDF and PNG, with what is drawn as CSV beside them."""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 300
HEADER = ("panel", "drawn as", "series", "x", "y")


@dataclass(frozen=True)
class FigureFiles:
    """The other forms of a picture, by the ending of their file."""

    name: str
    contents: dict[str, bytes]


_kept: ContextVar[list[FigureFiles] | None] = ContextVar("kept", default=None)


@contextmanager
def kept_figures() -> Iterator[list[FigureFiles]]:
    """Keep every figure that is drawn meanwhile, in the forms that a page has no use for."""
    kept: list[FigureFiles] = []
    token = _kept.set(kept)
    try:
        yield kept
    finally:
        _kept.reset(token)


def keep(figure: "Figure", name: str) -> None:
    """Called for every figure that becomes a picture; does nothing unless figures are kept."""
    kept = _kept.get()
    if kept is None:
        return
    contents = {"pdf": _pdf(figure), "png": _png(figure), "csv": _csv(figure)}
    kept.append(FigureFiles(name, contents))


def _pdf(figure: "Figure") -> bytes:
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    file = io.BytesIO()
    FigureCanvasPdf(figure).print_pdf(file, metadata={"CreationDate": None})
    return file.getvalue()


def _png(figure: "Figure") -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    file = io.BytesIO()
    figure.set_dpi(DOTS_PER_INCH)
    figure.set_facecolor("white")
    FigureCanvasAgg(figure).print_png(file, metadata={"Software": None})
    return file.getvalue()


def _csv(figure: "Figure") -> bytes:
    """Every point of every line, dot, bar and area, in the units of the axes."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEADER)
    for panel, axes in enumerate(figure.axes):
        for kind, series, points in _artists(axes):
            for x, y in points:
                writer.writerow([panel, kind, series, x, y])
    return file.getvalue().encode()


def _artists(axes: Any) -> Iterator[tuple[str, str, Sequence[Any]]]:
    """What is drawn: its kind, its name in the legend, and its points."""
    from matplotlib.collections import LineCollection, PathCollection

    for line in axes.lines:
        yield "line", _label(line), line.get_xydata().tolist()
    for patch in axes.patches:
        corners = patch.get_patch_transform().transform(patch.get_path().vertices)
        yield "bar", _label(patch), corners.tolist()
    for collection in axes.collections:
        if isinstance(collection, PathCollection):
            offsets: Any = collection.get_offsets()
            yield "dots", _label(collection), offsets.tolist()
            continue
        kind = "line" if isinstance(collection, LineCollection) else "area"
        for path in collection.get_paths():
            yield kind, _label(collection), path.vertices.tolist()


def _label(artist: Any) -> str:
    label = str(artist.get_label())
    return "" if label.startswith("_") else label
