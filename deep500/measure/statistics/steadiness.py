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
TREND_T = (
    3.9  # a rank trend of 20 block medians that chance gives once in a thousand series
)


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
    rest = y[lead:]
    bounds = _change_points(rest)
    levels = [float(np.median(part)) for part in np.split(rest, bounds)]
    while (
        bounds
        and abs(levels[len(bounds) - 1] - np.median(rest[bounds[-1] :])) <= TOLERANCE
    ):
        bounds.pop()
    start = bounds[-1] if bounds else 0
    tail = rest[start:]
    if len(tail) < TAIL * n or _trend(tail):
        return SteadyState("none", n, n)
    if not start:
        return SteadyState("warmup" if lead else "flat", lead, n)
    return SteadyState(
        "slowdown" if levels[len(bounds) - 1] < np.median(tail) else "warmup",
        lead + start,
        n,
    )


def _leading_outliers(y: Array) -> int:
    """How many first values (first call, compilation) lie clearly above everything in the second half."""
    later = y[len(y) // 2 :]
    top, middle = later.max(), np.median(later)
    fence = max(top + 0.25 * (top - middle), middle + TOLERANCE)
    below = y[: len(y) // 4] <= fence
    return int(below.argmax()) if below.any() else len(below)


def _change_points(y: Array) -> list[int]:
    """Binary segmentation of the normal scores; the price of a cut grows with noise and dependence."""
    n, z = len(y), normal_scores(y)
    quarters = np.array_split(z, 4)
    # a change inside a quarter spoils its noise and its dependence: take the middle, and the second smallest
    tau = sorted(map(_tau, quarters))[1]
    # dependent values vary less about their own mean than about the true one
    noise = float(np.median([quarter.var() for quarter in quarters])) / max(
        1 - tau / len(quarters[-1]), 0.5
    )
    price = 2.8 * math.log(n) * noise * tau
    shortest, sums = max(5, n // 50), np.concatenate(([0.0], np.cumsum(z)))
    found, todo = [], [(0, n)]
    while todo:
        first, last = todo.pop()
        cuts = np.arange(first + shortest, last - shortest + 1)
        if not len(cuts):
            continue
        left, right = cuts - first, last - cuts
        step = (sums[cuts] - sums[first]) / left - (sums[last] - sums[cuts]) / right
        gain = left * right / (last - first) * step**2
        best = int(gain.argmax())
        if gain[best] > max(price, 1e-9):
            cut = int(cuts[best])
            found.append(cut)
            todo += [(first, cut), (cut, last)]
    return sorted(found)


def _tau(z: Array) -> float:
    n = len(z)
    if n < 12:
        return 1.0
    rho = autocorrelation(z, min(n - 2, int(10 * math.sqrt(n))))
    r = min(first_order(float(rho[1]), n), 0.98)
    return max(
        1.0, (1 + r) / (1 - r), min(initial_monotone(without_bias(rho, n))[0], n / 4)
    )


def _trend(y: Array) -> bool:
    """Whether block medians drift, in rank and by more than twice the tolerance."""
    if len(y) < SHORTEST:
        return False
    blocks = np.array(
        [np.median(part) for part in np.array_split(y, min(20, len(y) // 5))]
    )
    count = len(blocks)
    later, earlier = np.triu_indices(count, 1)[::-1]
    drift = float(np.median((blocks[later] - blocks[earlier]) / (later - earlier))) * (
        count - 1
    )
    if abs(drift) <= 2 * TOLERANCE:
        return False
    r = float(np.corrcoef(np.argsort(np.argsort(blocks)), np.arange(count))[0, 1])
    return abs(r) * math.sqrt((count - 2) / max(1 - r * r, 1e-9)) > TREND_T
