"""What suites of pytest-benchmark read from `benchmark.stats`, computed from all samples, beside our interval."""

from functools import cached_property
from typing import Any

import numpy as np

from ..errors import Refused
from ..measure.results import Result
from ..measure.statistics.intervals import Interval

FIELDS = (
    "min",
    "max",
    "mean",
    "stddev",
    "rounds",
    "median",
    "iqr",
    "q1",
    "q3",
    "iqr_outliers",
    "stddev_outliers",
    "outliers",
    "ops",
    "total",
    "iterations",
)


class SampleStatistics:
    """Statistics of the seconds per call; `stats.stats.mean`, `stats.mean` and `stats["mean"]` are the same."""

    def __init__(self, result: Result):
        self.result = result
        self.name = result.names[0]

    @property
    def stats(self) -> "SampleStatistics":
        return self

    def __getitem__(self, name: str) -> Any:
        if name not in FIELDS:
            raise KeyError(name)
        return getattr(self, name)

    @cached_property
    def data(self) -> list[float]:
        """Seconds per call of every round after the warm-up."""
        return [float(seconds) for seconds in self._seconds]

    @cached_property
    def _seconds(self) -> np.ndarray:
        series = [process.seconds[0] for process in self.result.processes]
        return np.concatenate(series)

    @property
    def interval(self) -> Interval | None:
        """The interval of the median; None if the samples do not give one."""
        try:
            return self.result.interval(self.name)
        except Refused:
            return None

    @property
    def rounds(self) -> int:
        return len(self._seconds)

    @property
    def iterations(self) -> int:
        return self.result.batch(self.name)

    @property
    def min(self) -> float:
        return float(self._seconds.min())

    @property
    def max(self) -> float:
        return float(self._seconds.max())

    @property
    def mean(self) -> float:
        return float(self._seconds.mean())

    @property
    def total(self) -> float:
        return float(self._seconds.sum())

    @property
    def stddev(self) -> float:
        return float(self._seconds.std(ddof=1)) if self.rounds > 1 else 0.0

    @property
    def median(self) -> float:
        return float(np.median(self._seconds))

    @property
    def q1(self) -> float:
        return float(np.quantile(self._seconds, 0.25))

    @property
    def q3(self) -> float:
        return float(np.quantile(self._seconds, 0.75))

    @property
    def iqr(self) -> float:
        return self.q3 - self.q1

    @property
    def ops(self) -> float:
        """Calls per second at the mean time."""
        return 1 / self.mean

    @property
    def stddev_outliers(self) -> int:
        """How many values are further than a standard deviation from the mean."""
        distances = np.abs(self._seconds - self.mean)
        return int((distances > self.stddev).sum())

    @property
    def iqr_outliers(self) -> int:
        """How many values are further than 1.5 times the box from the box (Tukey)."""
        reach = 1.5 * self.iqr
        below = self._seconds < self.q1 - reach
        above = self._seconds > self.q3 + reach
        return int((below | above).sum())

    @property
    def outliers(self) -> str:
        return f"{self.stddev_outliers};{self.iqr_outliers}"
