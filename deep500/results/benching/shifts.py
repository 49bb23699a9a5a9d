"""The ratio of two entries at each quantile: whether a difference holds for typical calls, or in the tail alone."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...measure.numbers import EntryComparison, RatioAtQuantile
from ...reports.blocks import Picture
from ...reports.canvas import (
    INK,
    MOST_ENTRIES,
    colour,
    figure,
    labels,
    svg,
)
from .contents import quantile_name
from .data import ReportData
from .series import in_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 3
CAPTION = (
    "Points: the other's quantile divided by the base's; bars: its interval (no bar: narrower than the point). Line: "
    "no difference; shaded: the margin within which a difference counts as the same. A cross at the foot marks a "
    "quantile that was refused (too few samples). The points are not connected: nothing was estimated between them."
)
LABEL = {1: 30, 2: 30, 3: 22}  # the longest name that fits above a panel


def quantile_differences(data: ReportData) -> Picture | None:
    """One panel per comparison: points with intervals, which no line connects."""
    names = [entry.name for entry in data.entries]
    drawn = [row for row in data.comparisons if _is_drawable(row, names)]
    drawn = drawn[:MOST_ENTRIES]
    if not drawn:
        return None
    panel_count = len(drawn)
    columns = min(COLUMNS, panel_count)
    rows = math.ceil(panel_count / columns)
    height = 3.2 if rows == 1 else 2.1 * rows
    canvas = figure(height)
    panels = canvas.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    levels = _levels(drawn)
    short_names = labels(names, LABEL[columns])
    bases = {comparison.base for comparison in drawn}
    for axes, comparison in zip(panels, drawn, strict=False):
        other = comparison.other
        _panel(axes, comparison, levels, colour(names.index(other)))
        title = short_names[other]
        if len(bases) > 1:
            title += f"\nagainst {short_names.get(comparison.base)}"
        axes.set_title(title, loc="left")
    for axes in panels[panel_count:]:
        axes.set_visible(False)
    _scale(panels[0], drawn)
    canvas.supxlabel("quantile of the times", size=9, color=INK)
    base: str | None = "the base"
    if len(bases) == 1:
        base = short_names.get(bases.pop())
    canvas.supylabel(f"ratio to {base} (above 1: slower)", size=9, color=INK)
    image = svg(canvas, "ratios", "Ratio to the base at each quantile")
    return Picture("ratios", "Ratio at each quantile", image, CAPTION)


def _is_drawable(comparison: EntryComparison, names: Sequence[str]) -> bool:
    if comparison.other not in names:
        return False
    return any(map(_interval, comparison.quantiles))


def _levels(drawn: Sequence[EntryComparison]) -> list[float]:
    """The levels of all quantiles, in order."""
    levels = set()
    for comparison in drawn:
        for quantile in comparison.quantiles:
            levels.add(quantile.q)
    return sorted(levels)


def _panel(
    axes: "Axes", comparison: EntryComparison, levels: list[float], ink: str
) -> None:
    """One comparison: the margin as a band, the ratio at every quantile as a point with its interval."""
    low, high = 1 / (1 + comparison.margin), 1 + comparison.margin
    axes.axhspan(low, high, color=INK, alpha=0.18, lw=0)
    axes.axhline(1, color=INK, lw=1)
    axes.set_xticks(range(len(levels)), list(map(quantile_name, levels)))
    axes.tick_params(axis="x", labelsize=8)
    axes.set_xlim(-0.6, len(levels) - 0.4)
    axes.grid(axis="y")
    for quantile in comparison.quantiles:
        _draw_quantile(axes, levels.index(quantile.q), quantile, ink)


def _draw_quantile(axes: "Axes", x: int, quantile: RatioAtQuantile, ink: str) -> None:
    """A point with its interval, or a cross at the foot for a quantile that was refused."""
    interval = _interval(quantile)
    if interval is None:
        axes.plot(
            x,
            0.03,
            marker="x",
            color=INK,
            ms=5,
            transform=axes.get_xaxis_transform(),
            clip_on=False,
        )
        return
    low, ratio, high = interval
    below = ratio - low
    above = high - ratio
    axes.errorbar(
        x,
        ratio,
        [[below], [above]],
        fmt="o",
        ms=5,
        lw=1.6,
        capsize=3,
        color=ink,
    )


def _scale(axes: "Axes", drawn: Sequence[EntryComparison]) -> None:
    """Show 1 and every interval; logarithmic above a spread of 10."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ends = [*_interval_ends(drawn), 1.0]
    low = min(ends)
    high = max(ends)
    if low > 0 and high > 10 * low:
        axes.set_yscale("log")
        subs = (1.0, 2.0, 5.0) if high < 200 * low else (1.0,)
        axes.yaxis.set_major_locator(LogLocator(subs=subs))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylim(low / 1.3, high * 1.2)
    else:
        room = max(0.02, high - low)
        bottom = max(0, low - 0.15 * room)
        axes.set_ylim(bottom, high + 0.1 * room)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g} ×"))


def _interval_ends(drawn: Sequence[EntryComparison]) -> list[float]:
    ends = []
    for comparison in drawn:
        for quantile in comparison.quantiles:
            interval = _interval(quantile)
            if interval:
                ends += [interval[0], interval[2]]
    return ends


def _interval(
    quantile: RatioAtQuantile,
) -> tuple[float, float, float] | None:
    """Low, ratio and high; None if it was refused or cannot be drawn."""
    low, ratio, high = quantile.low, quantile.ratio, quantile.high
    if low is None or ratio is None or high is None:
        return None
    if not in_order(low, ratio, high):
        return None
    return low, ratio, high
