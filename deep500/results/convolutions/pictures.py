"""The heat-map of convolutions: the time of every algorithm per that of PyTorch's best layout."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...reports.blocks import Picture
from ...reports.text import clean
from .numbers import ConvolutionCell
from .page import by_place, fastest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Cells = Sequence[ConvolutionCell]
CAPTION = (
    "Time per that of PyTorch's faster layout: blue is faster than PyTorch, orange slower, the frame marks the "
    "fastest of a row; empty cells cannot be computed so."
)
MOST_ROWS = 60
LARGEST = 4.0  # ratio at which colours end
DARK = 0.55  # of the scale: from there, text is white


def pictures(cells: Cells) -> list[Picture]:
    """A map for every direction."""
    from ...reports.canvas import settings

    found = []
    with settings():
        for direction in dict.fromkeys(cell.direction for cell in cells):
            own = [cell for cell in cells if cell.direction == direction]
            picture = _map(direction, own)
            if picture:
                found.append(picture)
    return found


def _map(direction: str, cells: Cells) -> Picture | None:
    from ...reports.canvas import figure, svg

    places = by_place(cells)
    shapes = [shape for shape, _ in places][:MOST_ROWS]
    columns = list(
        dict.fromkeys(cell.candidate for own in places.values() for cell in own)
    )
    if not any(cell.ratio is not None for cell in cells):
        return None
    canvas = figure(1.3 + 0.24 * len(shapes))
    axes = canvas.subplots()
    for row, shape in enumerate(shapes):
        own = places[shape, direction]
        best = fastest(own)
        for cell in own:
            _draw(axes, row, columns.index(cell.candidate), cell, cell is best)
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(shapes) - 0.5, -0.5)
    names = [clean(name).replace(", ", ",\n") for name in columns]
    axes.set_xticks(range(len(columns)), names, rotation=40, ha="left", fontsize=7)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(shapes)), [clean(s) for s in shapes], fontsize=7)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    name = f"convolution-{direction}"
    title = f"Who wins where: {direction}"
    return Picture(name, title, svg(canvas, name, CAPTION), CAPTION)


def _draw(
    axes: "Axes", row: int, column: int, cell: ConvolutionCell, is_best: bool
) -> None:
    """A coloured cell with its ratio; the rival's own is 1."""
    from matplotlib.patches import Rectangle

    from ...reports.canvas import COLOURS, INK

    ratio = 1.0 if cell.ratio is None else cell.ratio
    share = max(-1.0, min(1.0, math.log(ratio) / math.log(LARGEST)))
    colour = COLOURS[0] if share < 0 else COLOURS[1]
    corner = column - 0.48, row - 0.46
    axes.add_patch(
        Rectangle(corner, 0.96, 0.92, facecolor=colour, alpha=abs(share), linewidth=0)
    )
    if is_best:
        axes.add_patch(
            Rectangle(corner, 0.96, 0.92, fill=False, edgecolor=INK, linewidth=1.6)
        )
    ink = "white" if abs(share) > DARK else INK
    weight = "bold" if is_best else "normal"
    axes.text(
        column,
        row,
        f"{ratio:.2f}",
        ha="center",
        va="center",
        fontsize=7,
        color=ink,
        fontweight=weight,
    )
