"""The picture of collectives: measured times, the fitted model, and the bound that no algorithm beats."""

import math
from collections.abc import Sequence
from typing import Any

from ...reports.blocks import Picture
from .data import ALONE
from .numbers import CellNumbers
from .words import algorithm_name, nbytes

CAPTION = (
    "Median time by size, with its interval: dots are measured, dashed lines are what the fitted model says, the grey "
    "area is below what any algorithm can reach on that model's network."
)

TICKS = 3  # on the axis of sizes, besides the first


def pictures(cells: Sequence[CellNumbers]) -> list[Picture]:
    """A picture for every operation and transport, a panel for each number of ranks."""
    from ...reports.canvas import settings

    groups: dict[tuple[str, str], list[CellNumbers]] = {}
    for cell in cells:
        # a scale of logarithms has no zero
        if cell.progress == ALONE and cell.seconds.value > 0:
            groups.setdefault((cell.operation, cell.transport), []).append(cell)
    drawn = []
    with settings():
        for (operation, transport), own in groups.items():
            if len({cell.bytes for cell in own}) > 1:
                drawn.append(_picture(f"{operation}-{transport}", own))
    return drawn


def _picture(name: str, cells: Sequence[CellNumbers]) -> Picture:
    from ...reports.canvas import figure, is_narrow, legend_below, svg

    ranks = sorted({cell.ranks for cell in cells})
    algorithms = sorted({algorithm_name(cell) for cell in cells})
    rows = len(ranks) if is_narrow() else 1
    canvas = figure(3.4 * rows + 0.3 + 0.08 * len(algorithms))
    panels = canvas.subplots(rows, len(ranks) // rows, squeeze=False).flat
    for axes, count in zip(panels, ranks, strict=True):
        _panel(axes, [c for c in cells if c.ranks == count], algorithms)
        axes.set_title(f"{count} ranks")
    handles = canvas.axes[0].get_legend_handles_labels()
    legend_below(canvas, 3, *handles)
    title = f"{cells[0].operation} over {cells[0].transport}"
    return Picture(name, title, svg(canvas, name, CAPTION), CAPTION)


def _panel(axes: Any, cells: Sequence[CellNumbers], algorithms: Sequence[str]) -> None:
    from ...reports.canvas import INK, time_axis

    times = [cell.seconds.value for cell in cells]
    bounds = {cell.bytes: cell.bound for cell in cells if cell.bound}
    low = min([*times, *bounds.values()]) / 1.5
    time_axis(axes, "y", low, 1.5 * max(times), log=True)
    for place, algorithm in enumerate(algorithms):
        own = [cell for cell in cells if algorithm_name(cell) == algorithm]
        _line(axes, place, algorithm, sorted(own, key=lambda cell: cell.bytes))
    if bounds:
        sizes = sorted(bounds)
        below = [bounds[size] for size in sizes]
        axes.fill_between(sizes, low, below, color=INK, alpha=0.2, label="bound")
    axes.set_xscale("log", base=2)
    shown = _apart(sorted({cell.bytes for cell in cells}))
    axes.set_xticks(shown, [nbytes(size) for size in shown])
    axes.minorticks_off()
    axes.set_xlabel("array of a rank")
    axes.grid(True)


def _line(axes: Any, place: int, label: str, cells: Sequence[CellNumbers]) -> None:
    from ...reports.canvas import colour

    for cell in cells:
        ends = cell.seconds.low, cell.seconds.high
        if None not in ends:
            axes.plot([cell.bytes] * 2, ends, color=colour(place), linewidth=1)
    sizes = [cell.bytes for cell in cells]
    values = [cell.seconds.value for cell in cells]
    marks = "os^Dvph*X"
    mark = marks[place % len(marks)]
    axes.plot(sizes, values, mark, color=colour(place), markersize=4, label=label)
    modelled = [(cell.bytes, cell.model) for cell in cells if cell.model]
    if modelled:
        model_sizes, models = zip(*modelled, strict=True)
        axes.plot(model_sizes, models, "--", color=colour(place), linewidth=1)


def _apart(sizes: Sequence[int]) -> list[int]:
    """Of ascending sizes, those whose labels have room on a scale of logarithms."""
    least = math.log(sizes[-1] / sizes[0]) / TICKS
    shown = [sizes[0]]
    for size in sizes[1:]:
        if math.log(size / shown[-1]) >= least * (1 - 1e-9):
            shown.append(size)
    return shown
