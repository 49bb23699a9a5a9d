"""What pictures are drawn from: the samples of each entry, the window that shows them, and thinning."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

import numpy as np
from numpy.typing import ArrayLike

from ...measure.numbers import EntryNumbers
from ...reports.canvas import MOST_ENTRIES, labels
from .data import ReportData

LARGEST = 1e12  # seconds, or times the base; what is larger is no measurement


@dataclass(frozen=True)
class Series:
    """What is drawn of one entry."""

    label: str
    index: int
    entry: EntryNumbers
    processes: list[np.ndarray]
    discarded: list[np.ndarray]

    @cached_property
    def values(self) -> np.ndarray:
        return np.concatenate(self.processes)

    @property
    def interval(self) -> tuple[float, float, float] | None:
        """Median, low and high; None where there is no interval."""
        median = self.entry.median
        low = self.entry.low
        high = self.entry.high
        if low is None or high is None or not in_order(low, median, high):
            return None
        return median, low, high


@dataclass(frozen=True)
class Window:
    """The part of a time axis that is shown, and whether it is logarithmic (only above a spread of 10)."""

    low: float
    high: float
    log: bool

    def outside(self, values: np.ndarray) -> int:
        """How many values are not shown."""
        beyond = (values < self.low) | (values > self.high)
        return int(beyond.sum())


def series(data: ReportData) -> list[Series]:
    """The entries that have samples, at most as many as a picture can hold."""
    short_names = labels([entry.name for entry in data.entries])
    drawn = []
    for index, entry in enumerate(data.entries):
        name = entry.name
        processes, discarded = _drawable(data, name)
        if processes:
            label = short_names[name]
            drawn.append(Series(label, index, entry, processes, discarded))
    return drawn[:MOST_ENTRIES]


def window(drawn: Sequence[Series]) -> Window:
    """Wide enough for all but far outliers, which would press everything else into a corner."""
    samples = [one.values for one in drawn]
    low, high = _fences(samples)
    if high > 10 * low:
        low, high = _fences([np.log(values) for values in samples])
        room = 0.03 * (high - low)
        return Window(math.exp(low - room), math.exp(high + room), True)
    room = 0.04 * (high - low) or 0.05 * high
    return Window(low - room, high + room, False)


def thinned(values: np.ndarray, most: int) -> np.ndarray:
    """The positions of at most that many values, drawn at random (a fixed stride could follow a pattern)."""
    n = len(values)
    if n <= most:
        return np.arange(n)
    positions = np.random.default_rng(0).choice(n, most, replace=False)
    return np.sort(positions)


def omitted(data: ReportData) -> str:
    """A sentence for the caption where there are more entries than a picture holds."""
    total = len(data.entries)
    if total <= MOST_ENTRIES:
        return ""
    return f" The first {MOST_ENTRIES} of {total} entries are drawn."


def in_order(low: float, value: float, high: float) -> bool:
    """Whether that can be drawn: numbers from a file may be anything."""
    return 0 < low <= value <= high < LARGEST


def _fences(samples: Sequence[np.ndarray]) -> tuple[float, float]:
    """The extremes of all, or three quartile distances from the box where they lie further out (but 90 % are shown)."""
    lows = []
    highs = []
    for values in samples:
        p5, q1, q3, p95 = np.quantile(values, (0.05, 0.25, 0.75, 0.95))
        reach = 3 * (q3 - q1)
        lower_fence = min(p5, q1 - reach)
        upper_fence = max(p95, q3 + reach)
        lows.append(max(values.min(), lower_fence))
        highs.append(min(values.max(), upper_fence))
    return float(min(lows)), float(max(highs))


def _drawable(data: ReportData, name: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The samples and the values cut as warm-up, of every process that has samples."""
    samples = data.samples.get(name, ())
    discarded = data.discarded.get(name, ())
    processes = []
    cuts = []
    for values, cut in zip_longest(samples, discarded, fillvalue=()):
        drawable = _positive(values)
        if drawable.size:
            processes.append(drawable)
            cuts.append(_positive(cut))
    return processes, cuts


def _positive(values: ArrayLike) -> np.ndarray:
    """The values that can be drawn on a logarithmic axis."""
    array = np.asarray(values, float).ravel()
    usable = (array > 0) & (array < LARGEST)
    return array[usable]
