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


def drift(logs: Sequence[Array], level: float = 0.95) -> Drift | None:
    """The drift of logarithms of costs, one series per process, in the order of time; None for too few of them."""
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
    reach = student_t_quantile((1 + level) / 2, n - 2) * error
    smallest_seen = reach + student_t_quantile(POWER, n - 2) * error
    return Drift(
        change=_relative(slope),
        low=_relative(slope - reach),
        high=_relative(slope + reach),
        detectable=_relative(smallest_seen),
        n=n,
    )


def _relative(log_change: float) -> float:
    return math.expm1(min(log_change, 700.0))


def _parts(logs: Sequence[Array]) -> list[Array]:
    if len(logs) > 1:
        return list(logs)
    count = min(PARTS, len(logs[0]) // SHORTEST_PART)
    if count == 0:
        return []
    return np.array_split(logs[0], count)
