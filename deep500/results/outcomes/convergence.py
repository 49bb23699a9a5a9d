"""How the task's first quality converges over the steps: the median of all seeds, and bands around it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...contracts.task import Quality
from ...errors import TooFewSamples
from ...measure.statistics.intervals import interval
from ...reports.blocks import Picture
from ...reports.canvas import INK, colour, figure, svg
from ...reports.tables import percent
from ...reports.text import clean
from ...training.outcome import qualities
from .curves import draw_targets, drawable, quality_label
from .data import OutcomeData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEWEST = 2  # seeds for a band
CAPTION = (
    "Line: the median over seeds of the validation {name} after every epoch. Light band: from the worst to the best "
    "seed. {inner}Only epochs that every seed has reached are drawn. n = {n} seeds."
)
INNER = "Dark band: the {level} interval of the median, epoch by epoch. "


@dataclass(frozen=True)
class Band:
    """Numbers for every epoch that all seeds have reached; `low` and `high` are None with too few seeds."""

    steps: list[int]
    median: list[float]
    worst: list[float]
    best: list[float]
    low: list[float] | None
    high: list[float] | None


def convergence(data: OutcomeData) -> Picture | None:
    """The curve with its bands; None with fewer than two seeds or epochs."""
    main = next(iter(qualities(data.plan).values()))
    band = convergence_band(data, main)
    if band is None:
        return None
    name = clean(main.name)
    level = percent(data.plan["level"])
    canvas = figure(3.7)
    axes = canvas.subplots()
    axes.set_xlabel("step")
    axes.set_ylabel(quality_label(main))
    axes.grid()
    _draw_band(axes, band, level)
    draw_targets(axes, data, main)
    canvas.legend(
        loc="outside lower left", ncols=3, frameon=False, labelcolor=INK
    )
    inner = ""
    if band.low is not None:
        inner = INNER.format(level=level)
    caption = CAPTION.format(name=name, inner=inner, n=len(data.runs))
    title = f"Convergence of the {name} over steps"
    return Picture(
        "convergence", title, svg(canvas, "convergence", title), caption
    )


def _draw_band(axes: "Axes", band: Band, level: str) -> None:
    """The range of all seeds, the interval of the median within it, and the median as a line."""
    ink = colour(0)
    axes.fill_between(
        band.steps,
        band.worst,
        band.best,
        color=ink,
        alpha=0.15,
        lw=0,
        label="all seeds",
    )
    if band.low is not None and band.high is not None:
        axes.fill_between(
            band.steps,
            band.low,
            band.high,
            color=ink,
            alpha=0.35,
            lw=0,
            label=f"{level} interval of the median",
        )
    axes.plot(
        band.steps,
        band.median,
        color=ink,
        lw=2,
        marker="o",
        ms=3,
        label="median over seeds",
    )


def convergence_band(data: OutcomeData, main: Quality) -> Band | None:
    """Median, range and interval over seeds for every epoch that all of them have."""
    evaluations = [run.evaluations for run in data.runs]
    epochs = min(map(len, evaluations), default=0)
    if len(evaluations) < FEWEST or epochs < 2:
        return None
    rows = [_qualities(of_seed[:epochs], main) for of_seed in evaluations]
    table = np.array(rows)
    steps = [evaluation["step"] for evaluation in evaluations[0][:epochs]]
    if not np.isfinite(table).all():
        return None
    median = np.median(table, axis=0).tolist()
    worst = table.min(axis=0).tolist()
    best = table.max(axis=0).tolist()
    low, high = _intervals(table, data.plan["level"])
    return Band(steps, median, worst, best, low, high)


def _qualities(evaluations: Sequence[dict], main: Quality) -> list[float]:
    """The quality of every evaluation; NaN where there is none that can be drawn."""
    values = []
    for evaluation in evaluations:
        value = evaluation["validation"].get(main.name)
        if not drawable(value, main):
            value = np.nan
        values.append(value)
    return values


def _intervals(
    table: np.ndarray, level: float
) -> tuple[list[float] | None, list[float] | None]:
    """The ends of the interval of the median in every column."""
    lows = []
    highs = []
    for column in table.T:
        try:
            of_median = interval(column[:, None].tolist(), level=level)
        except TooFewSamples:
            return None, None
        lows.append(of_median.low)
        highs.append(of_median.high)
    return lows, highs
