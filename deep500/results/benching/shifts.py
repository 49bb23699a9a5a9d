"""The ratio of two entries at each quantile: whether a difference holds for typical calls, or in the tail alone."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...reports.blocks import Picture
from ...reports.canvas import (
    INK,
    MOST_ENTRIES,
    colour,
    figure,
    labels,
    svg,
)
from ...reports.tables import is_number
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
    names = [e["name"] for e in data.entries]
    drawn = [
        c
        for c in data.comparisons
        if c["other"] in names and any(map(_has_interval, c.get("quantiles") or []))
    ]
    drawn = drawn[:MOST_ENTRIES]
    if not drawn:
        return None
    columns = min(COLUMNS, len(drawn))
    rows = math.ceil(len(drawn) / columns)
    canvas = figure(3.2 if rows == 1 else 2.1 * rows)
    panels = canvas.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    quantiles = sorted(
        {q["q"] for c in drawn for q in c["quantiles"] if is_number(q.get("q"))}
    )
    short = labels(names, LABEL[columns])
    bases = {c["base"] for c in drawn}
    for axes, c in zip(panels, drawn, strict=False):
        _panel(axes, c, quantiles, colour(names.index(c["other"])))
        against = f"\nagainst {short.get(c['base'])}" if len(bases) > 1 else ""
        axes.set_title(f"{short[c['other']]}{against}", loc="left")
    for axes in panels[len(drawn) :]:
        axes.set_visible(False)
    _scale(panels[0], drawn)
    canvas.supxlabel("quantile of the times", size=9, color=INK)
    base = short.get(bases.pop()) if len(bases) == 1 else "the base"
    canvas.supylabel(f"ratio to {base} (above 1: slower)", size=9, color=INK)
    drawing = svg(canvas, "ratios", "Ratio to the base at each quantile")
    return Picture("ratios", "Ratio at each quantile", drawing, CAPTION)


def _panel(
    axes: "Axes", c: Mapping[str, Any], quantiles: list[float], ink: str
) -> None:
    margin = c.get("margin")
    if is_number(margin) and margin >= 0:
        axes.axhspan(1 / (1 + margin), 1 + margin, color=INK, alpha=0.18, lw=0)
    axes.axhline(1, color=INK, lw=1)
    axes.set_xticks(range(len(quantiles)), [quantile_name(q) for q in quantiles])
    axes.tick_params(axis="x", labelsize=8)
    axes.set_xlim(-0.6, len(quantiles) - 0.4)
    axes.grid(axis="y")
    for q in c.get("quantiles") or []:
        if not is_number(q.get("q")):
            continue
        x = quantiles.index(q["q"])
        if _has_interval(q):
            axes.errorbar(
                x,
                q["ratio"],
                [[q["ratio"] - q["low"]], [q["high"] - q["ratio"]]],
                fmt="o",
                ms=5,
                lw=1.6,
                capsize=3,
                color=ink,
            )
        else:
            axes.plot(
                x,
                0.03,
                marker="x",
                color=INK,
                ms=5,
                transform=axes.get_xaxis_transform(),
                clip_on=False,
            )


def _scale(axes: "Axes", drawn: list[Mapping[str, Any]]) -> None:
    """Show 1 and every interval; logarithmic above a spread of 10."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ends = [
        q[end]
        for c in drawn
        for q in c["quantiles"]
        if _has_interval(q)
        for end in ("low", "high")
    ] + [1.0]
    low, high = min(ends), max(ends)
    if low > 0 and high > 10 * low:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(
            LogLocator(subs=(1.0, 2.0, 5.0) if high < 200 * low else (1.0,))
        )
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylim(low / 1.3, high * 1.2)
    else:
        room = max(0.02, high - low)
        axes.set_ylim(max(0, low - 0.15 * room), high + 0.1 * room)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.4g} ×"))


def _has_interval(q: Mapping[str, Any]) -> bool:
    low, ratio, high = q.get("low"), q.get("ratio"), q.get("high")
    return (
        is_number(q.get("q"))
        and is_number(low)
        and is_number(ratio)
        and is_number(high)
        and in_order(low, ratio, high)
    )
