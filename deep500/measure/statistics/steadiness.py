"""Where a series becomes steady: change points in its normal scores, priced by its noise and dependence."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .dependence import (
    as_series,
    autocorrelation,
    first_order,
    initial_monotone,
    normal_scores,
    without_bias,
)
from .distributions import Array

SHORTEST = 20  # fewer values show no change point
TOLERANCE = 0.01  # levels that differ by less (of the value) are one level
TAIL = 0.25  # the steady part must be at least this share of the series
# A rank trend of 20 block medians that chance gives once in a thousand series.
TREND_T = 3.9


@dataclass(frozen=True)
class SteadyState:
    """What a series does and where its steady part starts: 0 if flat, n if there is none."""

    kind: Literal["flat", "warmup", "slowdown", "none"]
    start: int
    n: int


def steady_state(series: ArrayLike) -> SteadyState:
    """Whether the series is flat, warms up, slows down or never is steady, and from which value on it is."""
    x = as_series(series)
    n = len(x)
    if n < SHORTEST:
        return SteadyState("flat", 0, n)
    y = np.log(x) if x.min() > 0 else x
    lead = _leading_outliers(y)
    y = y[lead:]
    bounds = _change_points(y)
    parts = np.split(y, bounds)
    levels = [float(np.median(part)) for part in parts]
    start, level_before = _steady_start(y, bounds, levels)
    tail = y[start:]
    if len(tail) < TAIL * n or _trend(tail):
        return SteadyState("none", n, n)
    if not start:
        return SteadyState("warmup" if lead else "flat", lead, n)
    if level_before < np.median(tail):
        return SteadyState("slowdown", lead + start, n)
    return SteadyState("warmup", lead + start, n)


def _steady_start(
    y: Array, bounds: list[int], levels: list[float]
) -> tuple[int, float]:
    """Where the last level starts, and the level before it; levels within the tolerance are one."""
    levels_before = levels[-2::-1]
    changes = zip(reversed(bounds), levels_before, strict=True)
    for bound, level_before in changes:
        if abs(level_before - np.median(y[bound:])) > TOLERANCE:
            return bound, level_before
    return 0, levels[0]


def _leading_outliers(y: Array) -> int:
    """How many first values (first call, compilation) lie clearly above everything in the second half."""
    later = y[len(y) // 2 :]
    top = later.max()
    middle = np.median(later)
    fence = max(top + 0.25 * (top - middle), middle + TOLERANCE)
    is_usual = y[: len(y) // 4] <= fence
    if is_usual.any():
        return int(is_usual.argmax())
    return len(is_usual)


def _change_points(y: Array) -> list[int]:
    """Binary segmentation of the normal scores; the price of a cut grows with noise and dependence."""
    n = len(y)
    z = normal_scores(y)
    price = max(_price(z), 1e-9)
    shortest = max(5, n // 50)
    sums = np.concatenate(([0.0], np.cumsum(z)))
    change_points = []
    segments = [(0, n)]
    while segments:
        first, last = segments.pop()
        cuts = np.arange(first + shortest, last - shortest + 1)
        if not len(cuts):
            continue
        before = cuts - first
        after = last - cuts
        mean_before = (sums[cuts] - sums[first]) / before
        mean_after = (sums[last] - sums[cuts]) / after
        step = mean_before - mean_after
        gain = before * after / (last - first) * step**2
        best = int(gain.argmax())
        if gain[best] > price:
            cut = int(cuts[best])
            change_points.append(cut)
            segments += [(first, cut), (cut, last)]
    return sorted(change_points)


def _price(z: Array) -> float:
    """What a cut must gain, so that noise and dependence alone seldom make one."""
    quarters = np.array_split(z, 4)
    # a change inside a quarter spoils its noise and its dependence: take the middle, and the second smallest
    tau = sorted(map(_tau, quarters))[1]
    variances = [quarter.var() for quarter in quarters]
    variance = float(np.median(variances))
    # dependent values vary less about their own mean than about the true one
    own_mean_share = tau / len(quarters[-1])
    noise = variance / max(1 - own_mean_share, 0.5)
    return 2.8 * math.log(len(z)) * noise * tau


def _tau(z: Array) -> float:
    n = len(z)
    if n < 12:
        return 1.0
    lags = min(n - 2, int(10 * math.sqrt(n)))
    rho = autocorrelation(z, lags)
    r = min(first_order(float(rho[1]), n), 0.98)
    first_order_tau = (1 + r) / (1 - r)
    monotone_tau = initial_monotone(without_bias(rho, n))[0]
    return max(1.0, first_order_tau, min(monotone_tau, n / 4))


def _trend(y: Array) -> bool:
    """Whether block medians drift, in rank and by more than twice the tolerance."""
    if len(y) < SHORTEST:
        return False
    parts = np.array_split(y, min(20, len(y) // 5))
    blocks = np.array([np.median(part) for part in parts])
    count = len(blocks)
    later, earlier = np.triu_indices(count, 1)[::-1]
    slopes = (blocks[later] - blocks[earlier]) / (later - earlier)
    drift = float(np.median(slopes)) * (count - 1)
    if abs(drift) <= 2 * TOLERANCE:
        return False
    ranks = np.argsort(np.argsort(blocks))
    correlations = np.corrcoef(ranks, np.arange(count))
    r = float(correlations[0, 1])
    unexplained = max(1 - r * r, 1e-9)
    t = abs(r) * math.sqrt((count - 2) / unexplained)
    return t > TREND_T
