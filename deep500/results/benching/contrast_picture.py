"""Two measurements in one picture: the median of every entry in A and in B, with its interval."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...measure.statistics.comparison import Comparison
from ...measure.statistics.intervals import Interval
from ...reports.blocks import Picture
from ...reports.canvas import (
    MOST_ENTRIES,
    colour,
    figure,
    labels,
    legend_below,
    settings,
    svg,
    time_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE = 30  # from this ratio of the largest to the smallest on, an axis is logarithmic
CAPTION = "Dots: the median time per call in A and in B. Bars: intervals, as in the table. Further left is faster."


def contrast_pictures(comparisons: Mapping[str, Comparison]) -> list[Picture]:
    """One row for each entry that has an interval on both sides."""
    sides: dict[str, tuple[Interval, Interval]] = {}
    for name, comparison in comparisons.items():
        if comparison.a and comparison.b:
            sides[name] = comparison.a, comparison.b
    names = list(sides)[:MOST_ENTRIES]
    if not names:
        return []
    with settings():
        short = labels(names)
        canvas = figure(1.0 + 0.55 * len(names))
        axes = canvas.subplots()
        _time_axis(axes, [sides[name] for name in names])
        axes.set_yticks(range(len(names)), [short[name] for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        for row, name in enumerate(names):
            for place, side in enumerate(sides[name]):
                _draw(axes, row, place, side)
        legend_below(canvas, 2)
        title = "A and B: median time per call"
        image = svg(canvas, "contrast", title)
    caption = CAPTION
    if len(sides) > len(names):
        caption += f" The first {len(names)} of {len(sides)} entries are drawn."
    return [Picture("contrast", title, image, caption)]


def _time_axis(axes: "Axes", sides: list[tuple[Interval, Interval]]) -> None:
    lows = []
    highs = []
    for a, b in sides:
        lows += [a.low, b.low]
        highs += [a.high, b.high]
    low = min(lows)
    high = max(highs)
    log = 0 < low and high > WIDE * low
    room = 0.06 * (high - low) or 0.05 * high
    limits = low - room, high + room
    if log:
        factor = math.exp(0.05 * math.log(high / low))
        limits = low / factor, high * factor
    unit = time_axis(axes, "x", *limits, log)
    axes.set_xlabel(f"time per call ({unit})")


def _draw(axes: "Axes", row: int, place: int, side: Interval) -> None:
    """The median of one side as a dot on the bar of its interval; A lies above B."""
    height = row - 0.14 + 0.28 * place
    ink = colour(place)
    axes.plot(
        [side.low, side.high],
        [height, height],
        color=ink,
        lw=3,
        alpha=0.5,
        solid_capstyle="butt",
    )
    label = "AB"[place] if row == 0 else None
    axes.plot(
        side.estimate,
        height,
        marker="o",
        ms=6,
        color=ink,
        ls="none",
        label=label,
    )
