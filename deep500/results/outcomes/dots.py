"""Every metric, seed by seed, with its median, interval and target."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...contracts.metric_summary import MetricSummary
from ...reports.blocks import Picture
from ...reports.canvas import (
    INK,
    MOST_ENTRIES,
    colour,
    figure,
    number_axis,
    svg,
    time_axis,
    wrapped,
)
from ..benching.series import LARGEST
from .curves import WIDE
from .data import OutcomeData
from .metric_text import has_goal, metric_name, never, seed_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CAPTION = (
    "A dot is the value of one seed, in the colours of the curves, the first seed on top. Grey bar with a tick: the "
    "median and its interval, as in the table (only a tick where there is no interval). Dashed: the target. Each "
    "metric has its own axis."
)


def dots(data: OutcomeData) -> Picture | None:
    """One panel per metric; None if no metric has a value that can be drawn."""
    drawn = [metric for metric in data.metrics if drawable_values(metric.values)]
    drawn = drawn[:MOST_ENTRIES]
    if not drawn:
        return None
    places = {run.seed: place for place, run in enumerate(data.runs)}
    colours = [colour(places[seed]) for seed in data.numbers.seeds]
    canvas = figure(0.2 + 1.3 * len(drawn))
    panels = canvas.subplots(len(drawn), squeeze=False).ravel()
    for axes, metric in zip(panels, drawn, strict=True):
        _panel(axes, metric, colours)
    image = svg(canvas, "seeds", "Metrics per seed")
    caption = f"{CAPTION} n = {seed_count(len(data.numbers.seeds))}."
    return Picture("seeds", "Every metric, seed by seed", image, caption)


def drawable_values(values: Sequence[float | None]) -> list[float]:
    """The values that a picture can show."""
    drawable = []
    for value in values:
        if value is not None and abs(value) < LARGEST:
            drawable.append(value)
    return drawable


def _panel(axes: "Axes", metric: MetricSummary, colours: list[str]) -> None:
    seeds = metric.n
    unit = value_axis(axes, metric)
    title = metric_name(metric)
    if unit:
        title += f" ({unit})"
    title += f", n = {seeds}"
    if never(metric):
        verb = "never reached it" if has_goal(metric) else "have no value"
        title += f"; {never(metric)} of {seed_count(seeds)} {verb}"
    axes.set_title(wrapped(title), loc="left")
    axes.set_ylim(1.35, -0.2)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    if metric.target is not None:
        axes.axvline(metric.target, color=INK, lw=1.3, ls=(0, (5, 3)))
    _draw_seeds(axes, metric.values, colours)
    draw_median_bar(axes, metric, 1.1)


def value_axis(axes: "Axes", *metrics: MetricSummary) -> str:
    """Scale the axis to the values, targets and intervals of one metric in several runs; returns its unit."""
    shown: list[float] = []
    for metric in metrics:
        marks = [metric.target, metric.low, metric.high]
        shown += drawable_values([*metric.values, *marks])
    low = min(shown)
    high = max(shown)
    log = low > 0 and high > WIDE * low
    unit = metrics[0].unit
    if unit != "s" or low <= 0:
        scale = number_axis(axes, "x", low, high, log)
        return ", ".join(filter(None, (unit, scale)))
    if log:
        return time_axis(axes, "x", low / 1.2, high * 1.2, log)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return time_axis(axes, "x", low - room, high + room, log)


def _draw_seeds(
    axes: "Axes", values: Sequence[float | None], colours: list[str]
) -> None:
    heights = [0.4]
    if len(values) > 1:
        heights = np.linspace(0, 0.8, len(values)).tolist()
    for value, height, ink in zip(values, heights, colours, strict=True):
        if value is not None:
            axes.plot(
                value,
                height,
                marker="o",
                ms=5.5,
                color=ink,
                alpha=0.85,
                ls="none",
            )


def draw_median_bar(axes: "Axes", metric: MetricSummary, height: float) -> None:
    """The median as a tick, on a bar that is its interval."""
    low = metric.low
    high = metric.high
    median = metric.median
    if low is not None or high is not None:
        # an open end runs off the panel
        left, right = axes.get_xlim()
        low = left if low is None else low
        high = right if high is None else high
        heights = [height, height]
        axes.plot([low, high], heights, color=INK, lw=4, solid_capstyle="butt")
    if median is not None:
        ends = [height - 0.17, height + 0.17]
        axes.plot([median, median], ends, color=INK, lw=1.8, solid_capstyle="butt")
