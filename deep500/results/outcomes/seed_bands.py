"""A quality over the epochs of many seeds: the median, the range and the interval of the median."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contracts.metric import History, Scale, quality_scale
from ...contracts.task import Quality
from ...errors import TooFewSamples
from ...measure.statistics.seeds import seeds_interval
from ..benching.series import LARGEST
from .drawable import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class SeedBand:
    """Numbers for every epoch that all seeds have reached; `low` and `high` are None with too few seeds."""

    steps: list[int]
    seconds: list[float]  # of training: the median over seeds
    median: list[float]
    worst: list[float]
    best: list[float]
    low: list[float] | None
    high: list[float] | None

    @property
    def has_times(self) -> bool:
        """Whether the seconds can be drawn; virtual ranks compute in none."""
        return all(0 < seconds < LARGEST for seconds in self.seconds)


def seed_band(
    runs: Sequence[History], main: Quality, level: float = 0.95
) -> SeedBand | None:
    """Numbers of every epoch that all seeds have; None without an epoch in which every seed has a value."""
    evaluations = [run.evaluations for run in runs]
    rows = [_qualities(of_seed, main) for of_seed in evaluations]
    epochs = min(map(_drawable_epochs, rows), default=0)
    if epochs == 0:
        return None
    table = np.array([row[:epochs] for row in rows])
    times = []
    for of_seed in evaluations:
        times.append([evaluation["seconds"] for evaluation in of_seed[:epochs]])
    low, high = _intervals(table, quality_scale(main), level)
    return SeedBand(
        steps=[evaluation["step"] for evaluation in evaluations[0][:epochs]],
        seconds=np.median(times, axis=0).tolist(),
        median=np.median(table, axis=0).tolist(),
        worst=table.min(axis=0).tolist(),
        best=table.max(axis=0).tolist(),
        low=low,
        high=high,
    )


def _drawable_epochs(values: Sequence[float]) -> int:
    """How many epochs there are before the first that cannot be drawn."""
    finite = np.isfinite(values)
    if finite.all():
        return len(values)
    return int(finite.argmin())


def _qualities(evaluations: Sequence[dict[str, Any]], main: Quality) -> list[float]:
    """The quality of every evaluation; NaN where there is none that can be drawn."""
    values = []
    for evaluation in evaluations:
        value = evaluation["validation"].get(main.name)
        if not drawable(value, main):
            value = np.nan
        values.append(value)
    return values


def _intervals(
    table: np.ndarray, scale: Scale, level: float
) -> tuple[list[float] | None, list[float] | None]:
    """The ends of the interval of the median in every column."""
    lows = []
    highs = []
    for column in table.T:
        try:
            of_median = seeds_interval(column.tolist(), scale, level)
        except TooFewSamples:
            return None, None
        lows.append(of_median.low)
        highs.append(of_median.high)
    return lows, highs


def draw_range(
    axes: "Axes", x: Sequence[float], band: SeedBand, ink: str, label: str
) -> None:
    """The band from the worst to the best seed."""
    axes.fill_between(
        x, band.worst, band.best, color=ink, alpha=0.15, lw=0, label=label
    )


def draw_median(
    axes: "Axes", x: Sequence[float], band: SeedBand, ink: str, label: str
) -> None:
    axes.plot(x, band.median, color=ink, lw=2, marker="o", ms=3, label=label)
