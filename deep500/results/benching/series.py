"""What pictures are drawn from: the samples of each entry, the window that shows them, and thinning."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...reports.canvas import MOST_ENTRIES, labels
from ...reports.tables import is_number
from .data import ReportData

LARGEST = 1e12  # seconds, or times the base; what is larger is no measurement


@dataclass(frozen=True)
class Series:
    """What is drawn of one entry."""

    label: str
    index: int
    entry: Mapping[str, Any]
    processes: list[np.ndarray]
    discarded: list[np.ndarray]

    @cached_property
    def values(self) -> np.ndarray:
        return np.concatenate(self.processes)

    @property
    def interval(self) -> tuple[float, float, float] | None:
        """Median, low and high; None where there is no interval."""
        median, low, high = (self.entry.get(key) for key in ("median", "low", "high"))
        if not (is_number(median) and is_number(low) and is_number(high)):
            return None
        return (median, low, high) if in_order(low, median, high) else None


@dataclass(frozen=True)
class Window:
    """The part of a time axis that is shown, and whether it is logarithmic (only above a spread of 10)."""

    low: float
    high: float
    log: bool

    def outside(self, values: np.ndarray) -> int:
        return int(((values < self.low) | (values > self.high)).sum())


def series(data: ReportData) -> list[Series]:
    """The entries that have samples, at most as many as a picture can hold."""
    short = labels([e["name"] for e in data.entries])
    found = [
        Series(short[e["name"]], i, e, *_drawable(data, e["name"]))
        for i, e in enumerate(data.entries)
    ]
    return [s for s in found if s.processes][:MOST_ENTRIES]


def window(drawn: Sequence[Series]) -> Window:
    """Wide enough for all but far outliers, which would press everything else into a corner."""
    low, high = _fences([s.values for s in drawn])
    if high > 10 * low:
        low, high = _fences([np.log(s.values) for s in drawn])
        room = 0.03 * (high - low)
        return Window(math.exp(low - room), math.exp(high + room), True)
    room = 0.04 * (high - low) or 0.05 * high
    return Window(low - room, high + room, False)


def thinned(values: np.ndarray, most: int) -> np.ndarray:
    """The positions of at most that many values, drawn at random (a fixed stride could follow a pattern)."""
    if len(values) <= most:
        return np.arange(len(values))
    return np.sort(np.random.default_rng(0).choice(len(values), most, replace=False))


def omitted(data: ReportData) -> str:
    """A sentence for the caption where there are more entries than a picture holds."""
    total = len(data.entries)
    return (
        f" The first {MOST_ENTRIES} of {total} entries are drawn."
        if total > MOST_ENTRIES
        else ""
    )


def in_order(low: float, value: float, high: float) -> bool:
    """Whether that can be drawn: numbers from a file may be anything."""
    return 0 < low <= value <= high < LARGEST


def _fences(series: Sequence[np.ndarray]) -> tuple[float, float]:
    """The extremes of all, or three quartile distances from the box where they lie further out (but 90 % are shown)."""
    lows, highs = [], []
    for values in series:
        p5, q1, q3, p95 = np.quantile(values, (0.05, 0.25, 0.75, 0.95))
        lows.append(max(values.min(), min(p5, q1 - 3 * (q3 - q1))))
        highs.append(min(values.max(), max(p95, q3 + 3 * (q3 - q1))))
    return float(min(lows)), float(max(highs))


def _drawable(data: ReportData, name: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What was kept and what was cut, of the processes that kept anything."""
    pairs = zip_longest(
        data.samples.get(name, ()), data.discarded.get(name, ()), fillvalue=()
    )
    usable = [(_positive(kept), _positive(cut)) for kept, cut in pairs]
    return [kept for kept, _ in usable if kept.size], [
        cut for kept, cut in usable if kept.size
    ]


def _positive(values: ArrayLike) -> np.ndarray:
    array = np.asarray(values, float).ravel()
    return array[(array > 0) & (array < LARGEST)]
