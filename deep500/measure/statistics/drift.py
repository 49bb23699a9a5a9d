"""A slow drift of a level over a run: how large it is, and how small a one the data would have shown.

A straight line through the medians of processes, or of consecutive parts of one process, against their place in the
run. Noise that is itself slow spreads these medians, and so counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .distributions import Array, student_t_quantile

PARTS = 10  # of one process
FEWEST = 4  # points, for a line with a spread about it
SHORTEST_PART = 3  # values
FEWEST_DEPENDENT = 10  # points, for a correlation of successive ones
FEWEST_DF = 2.0  # of t, however dependent they are
# What is assumed of dependent ones: a correlation so many standard errors above the one seen.
CAUTION = 1.0
MOST_CORRELATED = 0.98
POWER = 0.8  # with which the smallest drift is found


@dataclass(frozen=True)
class Drift:
    """The relative change from the beginning to the end of a run, with its interval.

    `detectable` is the smallest drift that would have been told from none with a probability of 80 %; `n` counts the
    medians that the line goes through.
    """

    change: float
    low: float
    high: float
    detectable: float
    n: int


def drift(
    logs: Sequence[Array], level: float = 0.95, dependent: bool = False
) -> Drift | None:
    """The drift of logarithms of costs, one series per process, in the order of time; None for too few of them.

    If they may be dependent, a level that wanders by itself is not taken for a drift: the interval is wider by what the
    correlation of successive medians about the line says. With fewer than ten it says nothing, and all count as one.
    """
    medians = np.array([np.median(part) for part in _parts(logs)])
    n = len(medians)
    if n < FEWEST:
        return None
    # the middle of each part, in a run from -1/2 to 1/2
    place = (np.arange(n) + 0.5) / n - 0.5
    spread = float(place @ place)
    slope = float(place @ medians) / spread
    residuals = medians - medians.mean() - slope * place
    variance = float(residuals @ residuals) / (n - 2)
    error = math.sqrt(variance / spread)
    df = float(n - 2)
    if dependent and n < FEWEST_DEPENDENT:
        error *= math.sqrt(n)
    elif dependent:
        tau = _values_as_one(residuals)
        error *= math.sqrt(tau)
        df = max(df / tau, FEWEST_DF)
    reach = student_t_quantile((1 + level) / 2, df) * error
    smallest_seen = reach + student_t_quantile(POWER, df) * error
    return Drift(
        change=_relative(slope),
        low=_relative(slope - reach),
        high=_relative(slope + reach),
        detectable=_relative(smallest_seen),
        n=n,
    )


def _values_as_one(residuals: Array) -> float:
    """How many successive residuals may count as one."""
    n = len(residuals)
    squares = float(residuals @ residuals)
    if squares == 0:
        return 1.0
    r = float(residuals[1:] @ residuals[:-1]) / squares
    # removing the line costs a short series so much of its correlation
    unbiased = min((n * r + 4) / (n - 6), MOST_CORRELATED)
    if unbiased <= 0:
        return 1.0
    error = math.sqrt((1 - unbiased * unbiased) / n)
    possible = min(unbiased + CAUTION * error, MOST_CORRELATED)
    return (1 + possible) / (1 - possible)


def _relative(log_change: float) -> float:
    return math.expm1(min(log_change, 700.0))


def _parts(logs: Sequence[Array]) -> list[Array]:
    if len(logs) > 1:
        return list(logs)
    count = min(PARTS, len(logs[0]) // SHORTEST_PART)
    if count == 0:
        return []
    return np.array_split(logs[0], count)
