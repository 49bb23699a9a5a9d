"""The task's first quality over time and loss over steps, a line for each seed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...contracts.metric import History
from ...contracts.metric_summary import MetricSummary
from ...contracts.task import Quality
from ...reports.blocks import Picture
from ...reports.canvas import (
    INK,
    MOST_ENTRIES,
    colour,
    dashes,
    figure,
    legend_below,
    number_axis,
    svg,
    time_axis,
)
from ...reports.text import clean
from ...training.metric_summary import qualities
from ..benching.series import LARGEST, thinned
from .data import OutcomeData
from .drawable import drawable
from .metric_text import metric_name, seed_count
from .seed_bands import SeedBand, draw_median, draw_range, seed_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_SEEDS = 40  # whose losses are drawn
MOST_LINES = 6  # as many as there are colours; of more seeds, a picture shows the median and a band
MOST_STEPS = 6000  # of all lines together
MOST_MEDIANS = 250  # points of the moving median
WIDE = 30  # from this ratio of the largest to the smallest on, an axis is logarithmic
DASHES: Sequence[object] = ((0, (5, 3)), (0, (1.5, 1.5)), "-.")
CURVES = (
    "A point is the validation {0} after an epoch; the time is that of training steps alone. Lines join the "
    "epochs of one seed: a curve over time may be interpolated, seeds may not be, and are not joined. Diamonds: the "
    "test {0} at the end, which training never looks at."
)
LOSSES = (
    "Thin lines: the loss of each batch, before its update, one line per seed. The thick line is a "
    "moving median, a help for the eye and no measurement (its window is cut off at both ends)."
)
MEDIANS = (
    "Line: the median over seeds of the validation {0} after every epoch, at the median time of training steps alone. "
    "Band: from the worst to the best seed. Only epochs that every seed has reached are drawn. Diamonds: the test {0} "
    "of each seed at the end, which training never looks at."
)
LOSS_BAND = (
    "Line: a moving median over all seeds of the loss of a batch, before its update. Band: the middle 80 % of these "
    "losses. Both help the eye and are no measurement (their window is cut off at both ends)."
)
# number of the seed, its run, what is drawn
Curve = tuple[int, History, np.ndarray]


def quality(data: OutcomeData) -> Picture | None:
    """The task's first quality on validation data against seconds of training."""
    main = next(iter(qualities(data.plan).values()))
    name = clean(main.name)
    curves: list[Curve] = []
    for i, run in enumerate(data.runs[:MOST_SEEDS]):
        points = _points(run, main)
        if len(points):
            curves.append((i, run, points))
    if not curves:
        return None
    canvas = figure(3.9)
    axes = canvas.subplots()
    axes.set_xlabel(f"time of training ({_training_time_axis(axes, curves)})")
    axes.set_ylabel(quality_label(main))
    axes.grid()
    caption = CURVES
    band = seed_band(data.runs, main)
    if len(data.runs) > MOST_LINES and band and band.has_times:
        caption = MEDIANS
        _draw_medians(axes, data, band, main)
    else:
        for i, run, points in curves:
            _draw_quality(axes, i, run, points, main)
    axes.plot(
        [],
        [],
        marker="D",
        ms=6,
        mfc="none",
        mec=INK,
        mew=1.4,
        ls="none",
        label=f"test {name}",
    )
    targets = draw_targets(axes, data, main)
    _legend(canvas, axes, len(curves))
    capitalised = name[:1].upper() + name[1:]
    title = f"{capitalised} over the time of training"
    alt = f"Validation {name} over the time of training, per seed"
    image = svg(canvas, "quality", alt)
    caption = caption.format(name) + _target_sentences(targets, main)
    caption += f" n = {_count(curves, data)}."
    return Picture("quality", title, image, caption)


def _training_time_axis(axes: "Axes", curves: Sequence[Curve]) -> str:
    """Scale the axis to the times of all curves; returns its unit."""
    times = np.concatenate([points[:, 0] for _, _, points in curves])
    shortest = times.min()
    longest = times.max()
    log = bool(longest > WIDE * shortest)
    low = 0.0
    high = float(1.04 * longest)
    if log:
        low = float(shortest / 1.15)
        high = float(longest * 1.15)
    return time_axis(axes, "x", low, high, log)


def quality_label(main: Quality) -> str:
    """The name of a quality with its unit: accuracy (%)."""
    label = clean(main.name)
    if main.unit:
        label += f" ({clean(main.unit)})"
    return label


def _draw_quality(
    axes: "Axes", i: int, run: History, points: np.ndarray, main: Quality
) -> None:
    """The curve of one seed, and a diamond for its test quality."""
    ink = colour(i)
    seconds, values = points.T
    axes.plot(
        seconds,
        values,
        color=ink,
        ls=dashes(i),
        lw=1.2,
        marker="o",
        ms=3,
        label=f"seed {run.seed}",
    )
    test = run.final("test", main.name)
    if drawable(test, main):
        axes.plot(
            seconds[-1],
            test,
            marker="D",
            ms=7,
            mfc="none",
            mec=ink,
            mew=1.6,
            ls="none",
        )


def _draw_medians(
    axes: "Axes", data: OutcomeData, band: SeedBand, main: Quality
) -> None:
    """The median and the range of many seeds, and a diamond for the test quality of each."""
    ink = colour(0)
    draw_range(axes, band.seconds, band, ink, "all seeds")
    draw_median(axes, band.seconds, band, ink, "median over seeds")
    for run in data.runs:
        test = run.final("test", main.name)
        if drawable(test, main):
            axes.plot(
                band.seconds[-1],
                test,
                marker="D",
                ms=6,
                mfc="none",
                mec=ink,
                mew=1.2,
                alpha=0.5,
                ls="none",
            )


def _target_sentences(targets: Mapping[float, Sequence[str]], main: Quality) -> str:
    sentences = ""
    for level, names in targets.items():
        owners = " and ".join(names)
        amount = _with_unit(level, main)
        sentences += f" Level {amount}: the target of {owners}."
    return sentences


def losses(data: OutcomeData) -> Picture | None:
    """Training loss step by step."""
    curves = []
    for i, run in enumerate(data.runs[:MOST_SEEDS]):
        values = _without_huge(run.losses)
        if np.isfinite(values).any():
            curves.append((i, run, values))
    if not curves:
        return None
    series = [values for _, _, values in curves]
    canvas = figure(3.7)
    axes = canvas.subplots()
    axes.set_xlabel("step")
    scale = _loss_axis(axes, series)
    label = "training loss"
    if scale:
        label += f" ({scale})"
    axes.set_ylabel(label)
    axes.grid()
    most = MOST_STEPS // len(curves)
    longest = max(map(len, series))
    width = max(5, longest // 20) | 1
    steps, medians = _moving_quantile(series, width, 50)
    label = f"moving median of {width} steps, all seeds"
    if len(curves) > MOST_LINES:
        ink = colour(0)
        _, low = _moving_quantile(series, width, 10)
        _, high = _moving_quantile(series, width, 90)
        axes.fill_between(
            steps, low, high, color=ink, alpha=0.2, lw=0, label="middle 80 %"
        )
        axes.plot(steps, medians, color=ink, lw=2, label=label)
        legend_below(canvas, 2)
        caption = f"{LOSS_BAND} n = {_count(curves, data)}."
        image = svg(canvas, "losses", "Training loss per step")
        return Picture("losses", "Training loss step by step", image, caption)
    for i, run, values in curves:
        drawn = thinned(values, most)
        axes.plot(
            drawn + 1,
            values[drawn],
            color=colour(i),
            ls=dashes(i),
            lw=0.7,
            alpha=0.55,
            label=f"seed {run.seed}",
        )
    axes.plot(steps, medians, color=INK, lw=2, label=label)
    _legend(canvas, axes, len(curves))
    caption = LOSSES
    if longest > most:
        caption += f" Of each seed at most {most} steps are drawn, chosen at random."
    caption += f" n = {_count(curves, data)}."
    image = svg(canvas, "losses", "Training loss per step and seed")
    return Picture("losses", "Training loss step by step", image, caption)


def _loss_axis(axes: "Axes", series: Sequence[np.ndarray]) -> str:
    """Scale the axis to all finite losses; returns the scale that its label names."""
    together = np.concatenate(series)
    together = together[np.isfinite(together)]
    low = together.min()
    high = together.max()
    log = bool(low > 0 and high > WIDE * low)
    return number_axis(axes, "y", float(low), float(high), log)


def draw_targets(
    axes: "Axes", data: OutcomeData, main: Quality
) -> dict[float, list[str]]:
    """A line for every level of the quality that the recipe names; returns the levels and whose they are."""
    targets = _targets(data, main)
    for i, level in enumerate(targets):
        dash = DASHES[i % len(DASHES)]
        label = f"target {_with_unit(level, main)}"
        axes.axhline(level, color=INK, lw=1.3, ls=dash, label=label)
    return targets


def _points(run: History, main: Quality) -> np.ndarray:
    """Seconds and quality after every epoch, as far as they can be drawn."""
    points = []
    for evaluation in run.looks:
        value = evaluation["validation"].get(main.name)
        if 0 < evaluation["seconds"] < LARGEST and drawable(value, main):
            points.append((evaluation["seconds"], value))
    return np.array(points)


def _with_unit(level: float, main: Quality) -> str:
    return f"{level:g} {clean(main.unit)}".rstrip()


def _without_huge(values: Sequence[float]) -> np.ndarray:
    """The values, with NaN in place of those that are too large to be drawn."""
    array = np.asarray(values, float)
    return np.where(np.abs(array) < LARGEST, array, np.nan)


def _targets(data: OutcomeData, main: Quality) -> dict[float, list[str]]:
    """The levels of the quality that the recipe names, and what they are the target of."""
    levels: dict[float, list[str]] = {}
    for metric in data.metrics:
        level, name = _level(metric, main)
        if drawable(level, main):
            levels.setdefault(level, []).append(name)
    return levels


def _level(metric: MetricSummary, main: Quality) -> tuple[object, str]:
    """The level of the quality that one metric is about, and its name; None if it is about something else."""
    settings = metric.settings
    if settings.get("name") == main.name:
        return metric.target, metric_name(metric)
    if main.name != "accuracy":
        return None, ""
    if metric.unit == "s":
        return settings.get("target"), metric_name(replace(metric, settings={}))
    if metric.unit == "%":
        return metric.target, metric_name(metric)
    return None, ""


def _moving_quantile(
    series: Sequence[np.ndarray], width: int, per_cent: float
) -> tuple[np.ndarray, np.ndarray]:
    """Steps, and a quantile of all losses in a window around each; NaN where none is finite."""
    longest = max(map(len, series))
    spaced = np.linspace(0, longest - 1, min(longest, MOST_MEDIANS))
    places = np.unique(spaced.round().astype(int))
    reach = width // 2
    medians = []
    for place in places:
        first = max(0, place - reach)
        end = place + reach + 1
        near = np.concatenate([values[first:end] for values in series])
        median = np.nan
        if np.isfinite(near).any():
            median = np.nanpercentile(near, per_cent)
        medians.append(median)
    return places + 1, np.array(medians)


def _legend(canvas: "Figure", axes: "Axes", seeds: int) -> None:
    """Name the lines; the seeds only if they are few enough to tell their lines apart."""
    handles = []
    labels = []
    for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
        if seeds <= MOST_ENTRIES or not label.startswith("seed "):
            handles.append(handle)
            labels.append(label)
    legend_below(canvas, 4, handles, labels)


def _count(drawn: Sequence[object], data: OutcomeData) -> str:
    total = len(data.runs)
    if len(drawn) == total:
        return seed_count(total)
    return f"{seed_count(total)}, of which {len(drawn)} are drawn"
