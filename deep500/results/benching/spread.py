"""How the times of each entry are spread: box and violin, and the empirical distribution function."""

from typing import TYPE_CHECKING

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
from ...reports.tables import is_number, seconds
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
    axes.set_yticks(range(len(drawn)), [s.label for s in drawn])
    axes.set_ylim(len(drawn) - 0.45, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    for row, s in enumerate(drawn):
        _violin(axes, row, s, view)
        _box(axes, row, s)
        _median(axes, row, s)
        _beyond(axes, row, s, view)
    return Picture(
        "violins",
        "How the times are spread",
        svg(canvas, "violins", "Box and violin per entry"),
        VIOLINS + omitted(data),
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
    for s in drawn:
        ordered = np.sort(s.values)
        ranks = np.unique(
            np.linspace(0, len(ordered) - 1, min(len(ordered), ECDF_STEPS))
            .round()
            .astype(int)
        )
        axes.step(
            np.r_[ordered[0], ordered[ranks]],
            np.r_[0, (ranks + 1) / len(ordered)],
            where="post",
            lw=1.6,
            color=colour(s.index),
            ls=dashes(s.index),
            label=s.label,
        )
    canvas.legend(
        loc="outside lower left",
        ncols=2 if len(drawn) > 1 else 1,
        frameon=False,
        handlelength=2.6,
    )
    caption = (
        f"A curve further left is faster. Drawn at up to {ECDF_STEPS} ranks per entry."
    )
    return Picture(
        "ecdf",
        "Share of values up to a time",
        svg(canvas, "ecdf", "Empirical distribution per entry"),
        caption + _beyond_caption(drawn, view) + omitted(data),
    )


def _violin(axes: "Axes", row: int, s: Series, view: Window) -> None:
    scale, back = (np.log, np.exp) if view.log else (np.asarray, np.asarray)
    values, (low, high) = scale(s.values), scale([view.low, view.high])
    spread = (
        min(values.std(), np.subtract(*np.quantile(values, (0.75, 0.25))) / 1.34)
        or values.std()
    )
    if not spread:
        return
    grid = np.linspace(max(low, values.min()), min(high, values.max()), DENSITY_POINTS)
    # Two thirds of Silverman's width: his rule is for one mode and would hide a second one.
    distances = (grid[:, None] - values[_sample(values)][None]) / (
        0.6 * spread * len(values) ** -0.2
    )
    density = np.exp(-0.5 * distances**2).sum(axis=1)
    half = 0.38 * density / density.max()
    axes.fill_between(
        back(grid), row - half, row + half, color=colour(s.index), alpha=0.28, lw=0
    )


def _sample(values: np.ndarray, most: int = 4000) -> np.ndarray:
    """Positions evenly spaced by rank: enough for the outline of a density."""
    order = np.argsort(values, kind="stable")
    return (
        order
        if len(order) <= most
        else order[((np.arange(most) + 0.5) * len(order) / most).astype(int)]
    )


def _box(axes: "Axes", row: int, s: Series) -> None:
    mine = colour(s.index)
    low, q1, q3, high = np.quantile(s.values, (0.05, 0.25, 0.75, 0.95))
    axes.plot(
        [s.values.min(), s.values.max()], [row, row], lw=0.6, alpha=0.7, color=mine
    )
    axes.plot([low, high], [row, row], lw=1.6, color=mine, solid_capstyle="butt")
    for end in (low, high):
        axes.plot(
            [end, end],
            [row - 0.07, row + 0.07],
            lw=1.6,
            color=mine,
            solid_capstyle="butt",
        )
    axes.fill_between([q1, q3], row - 0.13, row + 0.13, color=mine, alpha=0.55, lw=0)


def _median(axes: "Axes", row: int, s: Series) -> None:
    if s.interval:
        median, low, high = s.interval
        axes.plot([low, high], [row, row], color=INK, lw=4, solid_capstyle="butt")
        axes.plot(
            [median, median],
            [row - 0.24, row + 0.24],
            color=INK,
            lw=1.8,
            solid_capstyle="butt",
        )
    modes = [
        mode["at"]
        for mode in s.entry.get("modes") or []
        if is_number(mode.get("at")) and mode["at"] > 0
    ]
    axes.plot(modes, [row + 0.3] * len(modes), marker="^", color=INK, ms=6, ls="none")


def _beyond(axes: "Axes", row: int, s: Series, view: Window) -> None:
    above = int((s.values > view.high).sum())
    if above:
        axes.annotate(
            f"{above} beyond, up to {seconds(float(s.values.max()))} ▸",
            (1, row - 0.3),
            size=7.5,
            ha="right",
            xycoords=("axes fraction", "data"),
        )


def _beyond_caption(drawn: list[Series], view: Window) -> str:
    beyond = sum(view.outside(s.values) for s in drawn)
    return (
        f" {beyond} of {sum(len(s.values) for s in drawn)} values lie outside the axis."
        if beyond
        else ""
    )
