"""How large a difference is for single values: Hodges-Lehmann shift, probability of being cheaper."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .distributions import binomial_cdf, normal_quantile

# The shift is a median over all pairs of values. A thousand on either side, evenly spaced by rank, stand for
# any number: that moves it by less than 1e-4 standard deviations, and runs compare while they are going on.
MOST = 1000


@dataclass(frozen=True)
class Effect:
    """The size of a difference between two samples of costs, a and b.

    shift        Hodges & Lehmann's factor from a to b: exp of the median of log b - log a over all pairs of
                 values; of paired data, over the Walsh averages (d_i + d_j) / 2 of the pairs' differences
    probability  P(a < b) + P(a = b) / 2, the chance that a is the cheaper one; of paired data, their share

    Values of several processes are pooled. Bounds exist for independent values of one process only: of two
    samples by Mann-Whitney ranks (one shape, shifted) and Newcombe's method 5, of pairs by signed ranks
    (symmetric differences) and Clopper & Pearson's method.
    """

    shift: float
    shift_low: float | None
    shift_high: float | None
    probability: float
    probability_low: float | None
    probability_high: float | None


def two_sample_effect(
    log_a: np.ndarray, log_b: np.ndarray, level: float | None
) -> Effect:
    """The effect between independent samples, given as logarithms; level None leaves the bounds out."""
    n = log_a.size
    m = log_b.size
    a = _thinned(log_a, max(MOST, MOST**2 // m))
    b = _thinned(log_b, max(MOST, MOST**2 // n))
    differences = np.subtract.outer(b, a).ravel()
    ordered = np.sort(log_a)
    cheaper = np.searchsorted(ordered, log_b, "left")
    cheaper_or_equal = np.searchsorted(ordered, log_b, "right")
    halves = cheaper + cheaper_or_equal
    pairs = n * m
    share = int(halves.sum()) / (2 * pairs)
    if level is None:
        return _unbounded(differences, share)
    z = float(normal_quantile((1 + level) / 2))

    def plausible(seen: float, p: float) -> bool:
        # Hanley & McNeil's variance with both sizes at their mean
        others = (n + m) / 2 - 1
        correlated = (1 - p) / (2 - p) + p / (1 + p)
        variance = p * (1 - p) * (1 + others * correlated)
        deviation = math.sqrt(variance / (n * m))
        return seen - p <= z * deviation

    variance = (n + m + 1) / (12 * n * m)
    margin = z * math.sqrt(variance)
    shifts = _middle(differences, margin)
    return Effect(*shifts, *_bounded(share, plausible))


def paired_effect(differences: np.ndarray, level: float | None) -> Effect:
    """The effect in paired data, given as log b - log a of each pair; level None leaves the bounds out."""
    n = differences.size
    d = _thinned(differences, MOST)
    sums = np.add.outer(d, d)
    walsh = (sums / 2)[np.triu_indices(d.size)]
    cheaper = int((differences > 0).sum())
    equal = int((differences == 0).sum())
    share = (2 * cheaper + equal) / (2 * n)
    if level is None:
        return _unbounded(walsh, share)
    z = float(normal_quantile((1 + level) / 2))

    def plausible(seen: float, p: float) -> bool:
        pairs = round(2 * seen * n) / 2  # a tie is half a pair
        as_many_or_more = 1 - binomial_cdf(pairs - 1, n, p)
        return as_many_or_more >= (1 - level) / 2

    variance = (2 * n + 1) / (6 * n * (n + 1))
    margin = z * math.sqrt(variance)
    shifts = _middle(walsh, margin)
    return Effect(*shifts, *_bounded(share, plausible))


def _unbounded(differences: np.ndarray, share: float) -> Effect:
    shift = math.exp(np.median(differences))
    return Effect(
        shift=shift,
        shift_low=None,
        shift_high=None,
        probability=share,
        probability_low=None,
        probability_high=None,
    )


def _middle(
    values: np.ndarray, margin: float
) -> tuple[float, float | None, float | None]:
    """exp of the median, and of the order statistics at the shares 1/2 -+ margin as far as there are any."""
    k = math.floor((0.5 - margin) * values.size)
    if k < 1:
        return math.exp(np.median(values)), None, None
    values = np.partition(values, [k - 1, values.size - k])
    low = math.exp(values[k - 1])
    high = math.exp(values[-k])
    return math.exp(np.median(values)), low, high


def _bounded(
    share: float, plausible: Callable[[float, float], bool]
) -> tuple[float, float, float]:
    """The share, and the least and the largest probability with which it is plausible."""
    low = _least(share, plausible)
    high = 1 - _least(1 - share, plausible)
    return share, low, high


def _least(share: float, plausible: Callable[[float, float], bool]) -> float:
    low, high = 0.0, share
    for _ in range(50):
        middle = (low + high) / 2
        if plausible(share, middle):
            high = middle
        else:
            low = middle
    return low


def _thinned(values: np.ndarray, most: int) -> np.ndarray:
    """At most that many of the values, evenly spaced by rank; between two of them, their middle."""
    if values.size <= most:
        return values
    ordered = np.sort(values)
    step = values.size / most
    position = (np.arange(most) + 0.5) * step - 0.5
    below = ordered[np.floor(position).astype(int)]
    above = ordered[np.ceil(position).astype(int)]
    return (below + above) / 2
