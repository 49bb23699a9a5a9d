"""How the times of each entry are spread: box and violin, and the empirical distribution function."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ...reports.blocks import Picture
from ...reports.canvas import (
    INK,
    colour,
    dashes,
    figure,
    svg,
    time_axis,
)
from ...reports.tables import seconds
from .data import ReportData
from .series import (
    Series,
    Window,
    omitted,
    series,
    window,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ECDF_STEPS = 250  # a step more would not be seen, and would cost space
DENSITY_POINTS = 121
VIOLINS = (
    "Violin: density of the values (Gaussian kernel). Box: the middle half of the values; whiskers: from the 5 % to "
    "the 95 % quantile; thin line: from the smallest to the largest value. Grey bar with a tick: the median and its "
    "interval, as in the table; triangles: the modes, where there are several."
)


def violins(data: ReportData) -> Picture | None:
    """Box and violin per entry, with the interval of the median."""
    drawn = series(data)
    if not drawn:
        return None
    view = window(drawn)
    canvas = figure(0.75 + 0.62 * len(drawn))
    axes = canvas.subplots()
    unit = time_axis(axes, "x", view.low, view.high, view.log)
    axes.set_xlabel(f"time per call ({unit})")
    axes.set_yticks(range(len(drawn)), [one.label for one in drawn])
    axes.set_ylim(len(drawn) - 0.45, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    for row, one in enumerate(drawn):
        _violin(axes, row, one, view)
        _box(axes, row, one)
        _median(axes, row, one)
        _beyond(axes, row, one, view)
    return Picture(
        name="violins",
        title="How the times are spread",
        svg=svg(canvas, "violins", "Box and violin per entry"),
        caption=VIOLINS + omitted(data),
    )


def ecdf(data: ReportData) -> Picture | None:
    """The share of values up to each time, per entry."""
    drawn = series(data)
    if not drawn:
        return None
    view = window(drawn)
    canvas = figure(3.3 + 0.2 * ((len(drawn) + 1) // 2))
    axes = canvas.subplots()
    unit = time_axis(axes, "x", view.low, view.high, view.log)
    axes.set_xlabel(f"time per call ({unit})")
    axes.set_ylabel("share of values up to this time")
    axes.set_ylim(0, 1.02)
    axes.grid()
    for one in drawn:
        times, shares = _steps(one.values)
        axes.step(
            times,
            shares,
            where="post",
            lw=1.6,
            color=colour(one.index),
            ls=dashes(one.index),
            label=one.label,
        )
    columns = min(len(drawn), 2)
    canvas.legend(
        loc="outside lower left",
        ncols=columns,
        frameon=False,
        handlelength=2.6,
    )
    caption = (
        f"A curve further left is faster. Drawn at up to {ECDF_STEPS} ranks per entry."
    )
    return Picture(
        name="ecdf",
        title="Share of values up to a time",
        svg=svg(canvas, "ecdf", "Empirical distribution per entry"),
        caption=caption + _beyond_caption(drawn, view) + omitted(data),
    )


def _steps(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The steps of the empirical distribution function, at evenly spaced ranks: times and shares."""
    ordered = np.sort(values)
    n = len(ordered)
    spaced = np.linspace(0, n - 1, min(n, ECDF_STEPS))
    ranks = np.unique(spaced.round().astype(int))
    times = np.r_[ordered[0], ordered[ranks]]
    shares = np.r_[0, (ranks + 1) / n]
    return times, shares


def _violin(axes: "Axes", row: int, one: Series, view: Window) -> None:
    """The density of the values on both sides of a row, estimated on the scale of the axis."""
    scale: Any = np.asarray
    back: Any = np.asarray
    if view.log:
        scale = np.log
        back = np.exp
    values = scale(one.values)
    low, high = scale([view.low, view.high])
    deviation = values.std()
    q3, q1 = np.quantile(values, (0.75, 0.25))
    spread = min(deviation, np.subtract(q3, q1) / 1.34) or deviation
    if not spread:
        return
    first = max(low, values.min())
    last = min(high, values.max())
    grid = np.linspace(first, last, DENSITY_POINTS)
    # Two thirds of Silverman's width: his rule is for one mode and would hide a second one.
    width = 0.6 * spread * len(values) ** -0.2
    sample = values[_evenly_by_rank(values)]
    distances = (grid[:, None] - sample[None]) / width
    density = np.exp(-0.5 * distances**2).sum(axis=1)
    half = 0.38 * density / density.max()
    axes.fill_between(
        back(grid),
        row - half,
        row + half,
        color=colour(one.index),
        alpha=0.28,
        lw=0,
    )


def _evenly_by_rank(values: np.ndarray, most: int = 4000) -> np.ndarray:
    """Positions of at most so many values, evenly spaced by rank: enough for the outline of a density."""
    order = np.argsort(values, kind="stable")
    n = len(order)
    if n <= most:
        return order
    ranks = (np.arange(most) + 0.5) * n / most
    return order[ranks.astype(int)]


def _box(axes: "Axes", row: int, one: Series) -> None:
    """The middle half as a box, and whiskers from the 5 % to the 95 % quantile."""
    values = one.values
    ink = colour(one.index)
    low, q1, q3, high = np.quantile(values, (0.05, 0.25, 0.75, 0.95))
    extremes = [values.min(), values.max()]
    axes.plot(extremes, [row, row], lw=0.6, alpha=0.7, color=ink)
    axes.plot([low, high], [row, row], lw=1.6, color=ink, solid_capstyle="butt")
    cap = [row - 0.07, row + 0.07]
    for end in (low, high):
        axes.plot([end, end], cap, lw=1.6, color=ink, solid_capstyle="butt")
    axes.fill_between([q1, q3], row - 0.13, row + 0.13, color=ink, alpha=0.55, lw=0)


def _median(axes: "Axes", row: int, one: Series) -> None:
    """The median with its interval, and a triangle for every mode."""
    if one.interval:
        median, low, high = one.interval
        tick = [row - 0.24, row + 0.24]
        axes.plot([low, high], [row, row], color=INK, lw=4, solid_capstyle="butt")
        axes.plot([median, median], tick, color=INK, lw=1.8, solid_capstyle="butt")
    modes = [mode.at for mode in one.entry.modes or ()]
    heights = [row + 0.3] * len(modes)
    axes.plot(modes, heights, marker="^", color=INK, ms=6, ls="none")


def _beyond(axes: "Axes", row: int, one: Series, view: Window) -> None:
    """How many values lie beyond the axis, and how far."""
    above = int((one.values > view.high).sum())
    if not above:
        return
    largest = seconds(float(one.values.max()))
    axes.annotate(
        f"{above} beyond, up to {largest} ▸",
        (1, row - 0.3),
        size=7.5,
        ha="right",
        xycoords=("axes fraction", "data"),
    )


def _beyond_caption(drawn: list[Series], view: Window) -> str:
    total = beyond = 0
    for one in drawn:
        total += len(one.values)
        beyond += view.outside(one.values)
    if not beyond:
        return ""
    return f" {beyond} of {total} values lie outside the axis."
