"""Two one-sided tests (Schuirmann, 1987): are paired values the same, up to a margin that does not matter?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import median
from typing import Literal

from ...errors import Deep500Error, TooFewSamples
from .distributions import (
    binomial_cdf,
    student_t_cdf,
    student_t_quantile,
)
from .intervals import rank_interval, smallest_sample

Verdict = Literal["equivalent", "different", "inconclusive"]
FEWEST_PAIRS = 3
FEWEST_FOR_MEDIANS = 6


@dataclass(frozen=True)
class Equivalence:
    """The mean of paired differences, its interval at 1 - 2 alpha, and what the two tests say at alpha.

    equivalent     both tests reject: the interval lies within the margin
    different      the interval lies beyond the margin as a whole
    inconclusive   neither; more pairs may decide
    """

    verdict: Verdict
    difference: float
    low: float
    high: float
    margin: float
    n: int
    alpha: float
    p: float  # the larger one of the two tests: that the difference is beyond the margin
    # the largest rate of collapsing pairs of which n pairs show none with a probability of alpha; of medians only
    unseen: float | None = None


def equivalence(
    differences: Sequence[float], margin: float, alpha: float = 0.05
) -> Equivalence:
    """Test paired differences against a margin; each wrong verdict has a probability of alpha at most."""
    if not 0 < margin < math.inf:
        raise Deep500Error(f"the margin is {margin!r}: give a number above 0")
    if not 0 < alpha < 0.5:
        raise Deep500Error(f"alpha is {alpha!r}: give a number between 0 and 0.5")
    n = len(differences)
    if n < FEWEST_PAIRS:
        raise TooFewSamples(f"{n} pairs were given; at least {FEWEST_PAIRS} are needed")
    mean = math.fsum(differences) / n
    if not math.isfinite(mean):
        raise Deep500Error("a difference is not a finite number")
    error = _standard_error(differences, mean)
    width = _t_quantile(1 - alpha, n - 1) * error
    low = mean - width
    high = mean + width
    return Equivalence(
        verdict=_verdict(low, high, margin),
        difference=mean,
        low=low,
        high=high,
        margin=margin,
        n=n,
        alpha=alpha,
        p=_p_value(mean, error, margin, n),
    )


def median_equivalence(
    differences: Sequence[float], margin: float, alpha: float = 0.05
) -> Equivalence:
    """Test the median of paired differences by ranks, which holds for mixtures and skewed differences, too.

    A median does not see rare pairs that lie far off: "equivalent" also needs the t-interval of the mean to lie within
    the margin, and `unseen` says how frequent such pairs could be without any having been seen.
    """
    of_mean = equivalence(differences, margin, alpha)
    needed = max(FEWEST_FOR_MEDIANS, smallest_sample(0.5, 1 - 2 * alpha))
    n = len(differences)
    if n < needed:
        raise TooFewSamples(f"{n} pairs were given; at least {needed} are needed")
    ordered = sorted(differences)
    low, high = rank_interval(ordered, 1 - 2 * alpha)
    verdict = _verdict(low, high, margin)
    if verdict == "equivalent" and of_mean.verdict != "equivalent":
        verdict = "inconclusive"
    return replace(
        of_mean,
        verdict=verdict,
        difference=median(ordered),
        low=low,
        high=high,
        p=_sign_test(ordered, margin),
        unseen=1 - alpha ** (1 / n),
    )


def _sign_test(differences: Sequence[float], margin: float) -> float:
    """The larger one of two sign tests: that the median is beyond the margin."""
    n = len(differences)
    above = sum(difference >= margin for difference in differences)
    below = sum(difference <= -margin for difference in differences)
    return float(binomial_cdf(max(above, below), n, 0.5))


def _verdict(low: float, high: float, margin: float) -> Verdict:
    if -margin <= low and high <= margin:
        return "equivalent"
    if low > margin or high < -margin:
        return "different"
    return "inconclusive"


def _standard_error(differences: Sequence[float], mean: float) -> float:
    n = len(differences)
    squares = [(x - mean) ** 2 for x in differences]
    variance = math.fsum(squares) / (n - 1)
    return math.sqrt(variance / n)


def _p_value(mean: float, error: float, margin: float, n: int) -> float:
    distance = margin - abs(mean)
    if error > 0:
        return 1 - student_t_cdf(distance / error, n - 1)
    if distance >= 0:
        return 0.0
    return 1.0


@cache
def _t_quantile(p: float, degrees: int) -> float:
    return student_t_quantile(p, degrees)
