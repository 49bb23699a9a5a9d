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
MOST_IN_ONE_COLUMN = 4  # panels
# one in this many of the values cut as warm-up is drawn
DISCARDED_SHARE = 20
LABEL = (
    "values in order of time, process after process (shading changes with the process)"
)
CAPTION = (
    "A level band of points is a steady run. Horizontal lines: the median of each process. "
    "Ticks outside: values beyond the axis."
)


def run_order(data: ReportData) -> Picture | None:
    """One panel per entry: every value in order of time, process after process."""
    drawn = series(data)
    if not drawn:
        return None
    panel_count = len(drawn)
    columns = 1
    height = 1.6
    if panel_count > MOST_IN_ONE_COLUMN:
        columns = 2
        height = 1.35
    rows = math.ceil(panel_count / columns)
    canvas = figure(0.5 + height * rows)
    panels = canvas.subplots(rows, columns, squeeze=False).ravel()
    most = MOST_POINTS // panel_count
    for axes, one in zip(panels, drawn, strict=False):
        _panel(axes, one, most)
    for axes in panels[panel_count:]:
        axes.set_visible(False)
    canvas.supxlabel(LABEL, size=9, color=INK)
    return Picture(
        name="order",
        title="The samples in order of time",
        svg=svg(canvas, "order", "Samples in order of time"),
        caption=_caption(drawn, most) + omitted(data),
    )


def _caption(drawn: list[Series], most: int) -> str:
    caption = CAPTION
    if any(_has_discarded(one) for one in drawn):
        caption += " Grey points left of a dashed line: warm-up, cut (a selection where there is much of it)."
    elif any(_was_cut(one) for one in drawn):
        caption += " Values that were cut as warm-up are not drawn."
    total = shown = 0
    for one in drawn:
        total += len(one.values)
        shown += min(most, len(one.values))
    if shown < total:
        caption += f" {shown} of {total} values are drawn, chosen at random."
    return caption


def _has_discarded(one: Series) -> bool:
    return any(values.size for values in one.discarded)


def _was_cut(one: Series) -> bool:
    return one.entry.warmup.cut > 0


def _panel(axes: "Axes", one: Series, most: int) -> None:
    """The values of one entry in order of time, those cut as warm-up in grey."""
    view = window([one])
    axes.set_title(one.label, loc="left", pad=10)  # ticks stand between
    axes.set_ylabel(time_axis(axes, "y", view.low, view.high, view.log))
    axes.grid(axis="y")
    starts, borders = _positions(one)
    axes.set_xlim(-0.5, starts[-1] - 0.5)
    _shade(axes, starts)
    discarded_most = most // DISCARDED_SHARE
    _series_dots(axes, one.discarded, starts[:-1], discarded_most, view, INK)
    _series_dots(axes, one.processes, borders, most, view, colour(one.index))
    has_cut = [len(cut) > 0 for cut in one.discarded]
    cuts = borders[has_cut] - 0.5
    dashed = {"color": INK, "lw": 1, "ls": (0, (3, 2))}
    _strokes(axes, cuts, cuts, 0, 1, axes.get_xaxis_transform(), dashed)
    medians = np.array([np.median(values) for values in one.processes])
    line_starts = borders - 0.5
    line_ends = starts[1:] - 0.5
    solid = {"color": INK, "lw": 1.4}
    _strokes(axes, line_starts, line_ends, medians, medians, axes.transData, solid)


def _positions(one: Series) -> tuple[np.ndarray, np.ndarray]:
    """Where on the axis every process starts (and the last one ends), and where its values begin after the cut."""
    cuts = [len(cut) for cut in one.discarded]
    lengths = [0]
    for cut, values in zip(cuts, one.processes, strict=True):
        lengths.append(cut + len(values))
    starts = np.cumsum(lengths)
    return starts, starts[:-1] + cuts


def _series_dots(
    axes: "Axes",
    processes: list[np.ndarray],
    starts: np.ndarray,
    most: int,
    view: Window,
    ink: str,
) -> None:
    """At most so many of the values of all processes, each at its place in time."""
    places = []
    for start, values in zip(starts, processes, strict=True):
        places.append(start + np.arange(len(values)))
    x = np.concatenate(places)
    y = np.concatenate(processes)
    drawn = thinned(y, most)
    _dots(axes, x[drawn], y[drawn], view, ink)


def _shade(axes: "Axes", starts: np.ndarray) -> None:
    """Every other process on a grey ground."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    boxes = []
    for start, end in zip(starts[1:-1:2], starts[2::2], strict=True):
        x0 = start - 0.5
        x1 = end - 0.5
        boxes.append([(x0, 0), (x1, 0), (x1, 1), (x0, 1)])
    if not boxes:
        return
    ground = Path.make_compound_path_from_polys(np.array(boxes))
    transform = axes.get_xaxis_transform()
    patch = PathPatch(ground, color=INK, alpha=0.1, lw=0, transform=transform)
    axes.add_patch(patch)


def _dots(axes: "Axes", x: np.ndarray, y: np.ndarray, view: Window, ink: str) -> None:
    """Points inside the axes, ticks outside for values beyond them."""
    inside = (y >= view.low) & (y <= view.high)
    x_inside = x[inside]
    y_inside = y[inside]
    dot = {"color": ink, "lw": 2.4, "alpha": 0.6, "solid_capstyle": "round"}
    _strokes(axes, x_inside, x_inside, y_inside, y_inside, axes.transData, dot)
    tick = {"color": ink, "lw": 1.6, "clip_on": False, "in_layout": False}
    of_axes = axes.get_xaxis_transform()
    above = x[y > view.high]
    below = x[y < view.low]
    _strokes(axes, above, above, 1.0, 1.07, of_axes, tick)
    _strokes(axes, below, below, -0.07, 0.0, of_axes, tick)


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
    n = len(x1)
    if not n:
        return
    gap = np.full(n, np.nan)
    y1 = np.broadcast_to(y1, n)
    y2 = np.broadcast_to(y2, n)
    x = np.ravel([x1, x2, gap], "F")
    y = np.ravel([y1, y2, gap], "F")
    line = {"solid_capstyle": "butt"} | style
    axes.plot(x, y, transform=transform, **line)
