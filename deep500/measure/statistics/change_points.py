"""Where a series of results changes its level: a permutation test by ranks, with intervals of place and shift.

One value per run. How far runs lie apart is taken from the series itself, so that no threshold has to be chosen: a
series whose runs could stand in any order shows a change with probability 1 - level at most.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from ...errors import TooFewSamples
from .distributions import Array
from .intervals import checked_fraction
from .seeds import FEWEST_SEEDS, seeds_interval

SHORTEST_SERIES = 8
# one run is no level: a change is confirmed by so many on either side
SHORTEST_LEVEL = FEWEST_SEEDS
PERMUTATIONS = 1999
RESAMPLES = 499


@dataclass(frozen=True)
class ChangePoint:
    """A new level begins with value number `start`, counted from 0; it may as well be from `earliest` to `latest`.

    `shift` is the difference of the medians of both levels, with its interval; `n` the values of the smaller level.
    """

    start: int
    earliest: int
    latest: int
    shift: float
    low: float
    high: float
    p: float
    n: int


def change_points(values: Sequence[float], level: float = 0.95) -> list[ChangePoint]:
    """The changes of a series, by binary segmentation; raises TooFewSamples below eight values."""
    checked_fraction("level", level)
    if len(values) < SHORTEST_SERIES:
        raise TooFewSamples(
            f"a change was looked for in {len(values)} results; at least {SHORTEST_SERIES} are needed"
        )
    series = np.asarray(values, float)
    found: list[tuple[int, float]] = []
    segments = [(0, len(series))]
    while segments:
        first, last = segments.pop()
        if last - first < SHORTEST_SERIES:
            continue
        cut, p = _best_cut(series[first:last])
        if p <= 1 - level:
            found.append((first + cut, p))
            segments += [(first, first + cut), (first + cut, last)]
    return _described(series, sorted(found), level)


def _best_cut(values: Array) -> tuple[int, float]:
    """The most likely start of a second level, and the chance of one as clear if the order is chance."""
    ranks = _ranks(values)
    observed = _clearness(ranks[None])[0]
    if not np.ptp(ranks):
        return SHORTEST_LEVEL, 1.0
    random = np.random.default_rng(len(values))
    shuffled = random.permuted(np.tile(ranks, (PERMUTATIONS, 1)), axis=1)
    by_chance = _clearness(shuffled).max(axis=1)
    at_least = int((by_chance >= observed.max() - 1e-12).sum())
    p = (at_least + 1) / (PERMUTATIONS + 1)
    return SHORTEST_LEVEL + int(observed.argmax()), p


def _clearness(ranks: Array) -> Array:
    """For each row, the rank-sum statistic of every cut that leaves enough values on both sides, in its own scale."""
    count = ranks.shape[1]
    before = np.arange(SHORTEST_LEVEL, count - SHORTEST_LEVEL + 1)
    sums = np.cumsum(ranks, axis=1)[:, before - 1]
    expected = before * (count + 1) / 2
    spread = np.sqrt(before * (count - before) * (count + 1) / 12)
    return np.abs(sums - expected) / spread


def _ranks(values: Array) -> Array:
    """Average ranks, from 1."""
    _, position, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return ranks[position]


def _described(
    series: Array, cuts: Sequence[tuple[int, float]], level: float
) -> list[ChangePoint]:
    bounds = [0, *(start for start, _ in cuts), len(series)]
    changes = []
    for number, (start, p) in enumerate(cuts, 1):
        before = series[bounds[number - 1] : start]
        after = series[start : bounds[number + 1]]
        earliest, latest = _place(before, after, level)
        shift, low, high = _shift(before, after, level)
        changes.append(
            ChangePoint(
                start=start,
                earliest=start + earliest,
                latest=start + latest,
                shift=shift,
                low=low,
                high=high,
                p=p,
                n=min(len(before), len(after)),
            )
        )
    return changes


def _place(before: Array, after: Array, level: float) -> tuple[int, int]:
    """The interval of the place, relative to it: where the change is found in resampled levels."""
    random = np.random.default_rng(len(before) * 1009 + len(after))
    starts = random.choice(before, (RESAMPLES, len(before)))
    ends = random.choice(after, (RESAMPLES, len(after)))
    resampled = np.concatenate([starts, ends], axis=1)
    ranks = np.apply_along_axis(_ranks, 1, resampled)
    found = SHORTEST_LEVEL + _clearness(ranks).argmax(axis=1) - len(before)
    tail = (1 - level) / 2
    low, high = np.quantile(found, [tail, 1 - tail])
    return min(0, math.floor(low)), max(0, math.ceil(high))


def _shift(before: Array, after: Array, level: float) -> tuple[float, float, float]:
    """The difference of both medians, from an interval of each (MOVER)."""
    a = seeds_interval(before.tolist(), level=level)
    b = seeds_interval(after.tolist(), level=level)
    shift = median(after.tolist()) - median(before.tolist())
    low = shift - math.hypot(b.estimate - b.low, a.high - a.estimate)
    high = shift + math.hypot(b.high - b.estimate, a.estimate - a.low)
    return shift, low, high
