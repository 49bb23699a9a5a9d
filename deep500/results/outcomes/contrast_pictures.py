"""Two runs of recipes in one picture: how their quality went, and every metric seed by seed."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...contracts.metric_summary import MetricSummary
from ...contracts.task import Quality
from ...reports.blocks import Picture
from ...reports.canvas import (
    INK,
    MOST_ENTRIES,
    colour,
    figure,
    for_phones_too,
    legend_below,
    settings,
    svg,
    time_axis,
    wrapped,
)
from ...reports.text import clean
from ...training.metric_summary import qualities
from .curves import WIDE, draw_targets, quality_label
from .data import OutcomeData
from .dots import draw_median_bar, drawable_values, value_axis
from .metric_text import metric_name, seed_count
from .seed_bands import SeedBand, draw_median, draw_range, seed_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SEEDS = 1000
BAND = (
    "Lines: the median over seeds of the validation {name} after every epoch. Bands: from the worst to the best seed. "
    "Only epochs that every seed of a run has reached are drawn. A: {a}. B: {b}."
)
DOTS = (
    "A dot is the value of one seed. Grey bar with a tick: the median and its interval (only a tick where there is no "
    "interval). Each metric has its own axis. A: {a}. B: {b}."
)


def contrast_pictures(a: OutcomeData, b: OutcomeData) -> list[Picture]:
    """The pictures that both runs allow; none for too many seeds."""
    if max(len(a.runs), len(b.runs)) > MOST_SEEDS:
        return []

    def draw_all() -> list[Picture]:
        drawn = [draw(a, b) for draw in (_over_time, _over_steps, _dots)]
        return [picture for picture in drawn if picture]

    with settings():
        return for_phones_too(draw_all)


def _over_time(a: OutcomeData, b: OutcomeData) -> Picture | None:
    """Both curves over seconds of training; None if one of the runs took no time, as virtual ranks do."""
    bands = _bands(a, b)
    times: list[float] = []
    for band in bands.values():
        times += band.seconds
    if not bands or not all(band.has_times for band in bands.values()):
        return None

    def draw(axes: "Axes") -> None:
        log = max(times) > WIDE * min(times)
        low, high = 0.0, 1.04 * max(times)
        if log:
            low, high = min(times) / 1.15, 1.15 * max(times)
        unit = time_axis(axes, "x", low, high, log)
        axes.set_xlabel(f"time of training ({unit})")
        for place, (side, band) in enumerate(bands.items()):
            _draw(axes, band.seconds, band, place, side)

    return _curves(a, b, "contrast-time", "over the time of training", draw)


def _over_steps(a: OutcomeData, b: OutcomeData) -> Picture | None:
    """Both curves over steps."""
    bands = _bands(a, b)
    if not bands:
        return None

    def draw(axes: "Axes") -> None:
        axes.set_xlabel("step")
        for place, (side, band) in enumerate(bands.items()):
            _draw(axes, band.steps, band, place, side)

    return _curves(a, b, "contrast-steps", "over steps", draw)


def _bands(a: OutcomeData, b: OutcomeData) -> dict[str, SeedBand]:
    """The bands of A and B; none if they have other qualities, or if one of them has nothing to draw."""
    main = _main(a)
    if main != _main(b):
        return {}
    bands = {}
    for side, data in (("A", a), ("B", b)):
        band = seed_band(data.runs, main)
        if band is None:
            return {}
        bands[side] = band
    return bands


def _main(data: OutcomeData) -> Quality:
    return next(iter(qualities(data.plan).values()))


def _curves(
    a: OutcomeData,
    b: OutcomeData,
    name: str,
    over: str,
    draw: Callable[["Axes"], None],
) -> Picture:
    main = _main(a)
    quality = clean(main.name)
    canvas = figure(3.9)
    axes = canvas.subplots()
    axes.set_ylabel(quality_label(main))
    axes.grid()
    draw(axes)
    draw_targets(axes, a, main)
    legend_below(canvas, 3)
    title = f"{quality[:1].upper()}{quality[1:]} {over}: A and B"
    caption = BAND.format(name=quality, a=_named(a), b=_named(b))
    return Picture(name, title, svg(canvas, name, title), caption)


def _draw(
    axes: "Axes", x: Sequence[float], band: SeedBand, place: int, side: str
) -> None:
    draw_range(axes, x, band, colour(place), f"all seeds of {side}")
    draw_median(axes, x, band, colour(place), f"median of {side}")


def _named(data: OutcomeData) -> str:
    """The run in the words of a caption: its folder and its seeds."""
    folder = clean(data.bundle.rstrip("/").rpartition("/")[2])
    return f"{folder}, {seed_count(len(data.runs))}"


def _dots(a: OutcomeData, b: OutcomeData) -> Picture | None:
    """One panel per metric that both have, with a row of dots for each run."""
    of_b = {metric_name(metric): metric for metric in b.metrics}
    pairs = []
    for metric in a.metrics:
        other = of_b.get(metric_name(metric))
        if other and _drawable(metric) and _drawable(other):
            pairs.append((metric, other))
    pairs = pairs[:MOST_ENTRIES]
    if not pairs:
        return None
    canvas = figure(0.2 + 1.4 * len(pairs))
    panels = canvas.subplots(len(pairs), squeeze=False).ravel()
    for axes, pair in zip(panels, pairs, strict=True):
        _panel(axes, pair)
    title = "Every metric of A and B, seed by seed"
    caption = DOTS.format(a=_named(a), b=_named(b))
    return Picture(
        "contrast-seeds", title, svg(canvas, "contrast-seeds", title), caption
    )


def _drawable(metric: MetricSummary) -> bool:
    return bool(drawable_values(metric.values))


def _panel(axes: "Axes", pair: tuple[MetricSummary, MetricSummary]) -> None:
    unit = value_axis(axes, *pair)
    title = metric_name(pair[0])
    if unit:
        title += f" ({unit})"
    axes.set_title(wrapped(title), loc="left")
    axes.set_ylim(1.5, -0.5)
    axes.set_yticks([0, 1], ["A", "B"])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    for row, metric in enumerate(pair):
        values = drawable_values(metric.values)
        axes.plot(
            values,
            [row - 0.15] * len(values),
            marker="o",
            ms=5.5,
            color=colour(row),
            alpha=0.6,
            ls="none",
        )
        draw_median_bar(axes, metric, row + 0.2)
    if pair[0].target is not None:
        axes.axvline(pair[0].target, color=INK, lw=1.3, ls=(0, (5, 3)))
