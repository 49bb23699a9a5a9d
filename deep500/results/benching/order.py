"""The samples in the order in which they were taken: drift, jumps, and what the warm-up cut removed."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...reports.blocks import Picture
from ...reports.canvas import (
    INK,
    colour,
    figure,
    svg,
    time_axis,
)
from .data import ReportData
from .series import (
    Series,
    Window,
    omitted,
    series,
    thinned,
    window,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Transform

MOST_POINTS = 5000


def run_order(data: ReportData) -> Picture | None:
    """One panel per entry: every value in order of time, process after process."""
    drawn = series(data)
    if not drawn:
        return None
    columns = 1 if len(drawn) <= 4 else 2
    rows = math.ceil(len(drawn) / columns)
    canvas = figure(0.5 + (1.6 if columns == 1 else 1.35) * rows)
    panels = canvas.subplots(rows, columns, squeeze=False).ravel()
    most = MOST_POINTS // len(drawn)
    for axes, s in zip(panels, drawn, strict=False):
        _panel(axes, s, most)
    for axes in panels[len(drawn) :]:
        axes.set_visible(False)
    label = "values in order of time, process after process (shading changes with the process)"
    canvas.supxlabel(label, size=9, color=INK)
    return Picture(
        "order",
        "The samples in order of time",
        svg(canvas, "order", "Samples in order of time"),
        _caption(drawn, most) + omitted(data),
    )


def _caption(drawn: list[Series], most: int) -> str:
    total, shown = (
        sum(len(s.values) for s in drawn),
        sum(min(most, len(s.values)) for s in drawn),
    )
    thinning = (
        f" {shown} of {total} values are drawn, chosen at random."
        if shown < total
        else ""
    )
    cut = ""
    if any(values.size for s in drawn for values in s.discarded):
        cut = " Grey points left of a dashed line: warm-up, cut (a selection where there is much of it)."
    elif any((s.entry.get("warmup") or {}).get("cut") for s in drawn):
        cut = " Values that were cut as warm-up are not drawn."
    return (
        "A level band of points is a steady run. Horizontal lines: the median of each process. "
        "Ticks outside: values beyond the axis." + cut + thinning
    )


def _panel(axes: "Axes", s: Series, most: int) -> None:
    view = window([s])
    axes.set_title(s.label, loc="left", pad=10)  # ticks stand between
    axes.set_ylabel(time_axis(axes, "y", view.low, view.high, view.log))
    axes.grid(axis="y")
    starts = np.cumsum(
        [
            0,
            *(
                len(cut) + len(kept)
                for cut, kept in zip(s.discarded, s.processes, strict=True)
            ),
        ]
    )
    borders = starts[:-1] + [len(cut) for cut in s.discarded]
    axes.set_xlim(-0.5, starts[-1] - 0.5)
    _shade(axes, starts)
    for runs, first, share, ink in (
        (s.discarded, starts, 20, INK),
        (s.processes, borders, 1, colour(s.index)),
    ):
        values = np.concatenate(runs)
        x = np.concatenate(
            [a + np.arange(len(v)) for a, v in zip(first, runs, strict=False)]
        )
        some = thinned(values, most // share)
        _dots(axes, x[some], values[some], view, ink)
    cuts = borders[[len(cut) > 0 for cut in s.discarded]] - 0.5
    _strokes(
        axes,
        cuts,
        cuts,
        0,
        1,
        axes.get_xaxis_transform(),
        {"color": INK, "lw": 1, "ls": (0, (3, 2))},
    )
    medians = np.array([np.median(values) for values in s.processes])
    _strokes(
        axes,
        borders - 0.5,
        starts[1:] - 0.5,
        medians,
        medians,
        axes.transData,
        {"color": INK, "lw": 1.4},
    )


def _shade(axes: "Axes", starts: np.ndarray) -> None:
    """Every other process on a grey ground."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    spans = [
        (a - 0.5, b - 0.5) for a, b in zip(starts[1:-1:2], starts[2::2], strict=True)
    ]
    if spans:
        ground = Path.make_compound_path_from_polys(
            np.array([[(a, 0), (b, 0), (b, 1), (a, 1)] for a, b in spans])
        )
        axes.add_patch(
            PathPatch(
                ground, color=INK, alpha=0.1, lw=0, transform=axes.get_xaxis_transform()
            )
        )


def _dots(axes: "Axes", x: np.ndarray, y: np.ndarray, view: Window, ink: str) -> None:
    """Points inside the axes, ticks outside for values beyond them."""
    inside = (y >= view.low) & (y <= view.high)
    _strokes(
        axes,
        x[inside],
        x[inside],
        y[inside],
        y[inside],
        axes.transData,
        {"color": ink, "lw": 2.4, "alpha": 0.6, "solid_capstyle": "round"},
    )
    for beyond, foot, head in ((y > view.high, 1.0, 1.07), (y < view.low, -0.07, 0.0)):
        _strokes(
            axes,
            x[beyond],
            x[beyond],
            foot,
            head,
            axes.get_xaxis_transform(),
            {"color": ink, "lw": 1.6, "clip_on": False, "in_layout": False},
        )


def _strokes(
    axes: "Axes",
    x1: np.ndarray,
    x2: np.ndarray,
    y1: ArrayLike,
    y2: ArrayLike,
    transform: "Transform",
    style: dict[str, Any],
) -> None:
    """Many separate lines as one path, a fifth of the size of as many elements; of no length, they are dots."""
    if len(x1):
        gap = np.full(len(x1), np.nan)
        y1, y2 = np.broadcast_to(y1, len(x1)), np.broadcast_to(y2, len(x1))
        axes.plot(
            np.ravel([x1, x2, gap], "F"),
            np.ravel([y1, y2, gap], "F"),
            transform=transform,
            **({"solid_capstyle": "butt"} | style),
        )
