"""How much more b costs than a, by medians and by means: other questions than the ratio inside paired rounds.

Where every call costs about the same, all three have one answer. Where calls have several costs (a cache that is hit or
missed), they may even lie on different sides of 1.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import TooFewSamples
from .comparison import Verdict, log_interval, verdict_of
from .dependence import Array

PAIRED = "median ratio of paired rounds"
# Of the intervals that may contradict a verdict: what is withheld seldom has to be without need.
LEVEL = 0.99
PARTS = 10  # of the values where there are too few processes for an interval
SHORTEST_PART = 3
FEWEST_PROCESSES = 3


@dataclass(frozen=True)
class RatioEstimate:
    """A ratio b / a with its interval at LEVEL; none where there are too few values."""

    ratio: float
    low: float | None
    high: float | None

    def verdict(self, margin: float) -> Verdict:
        if self.low is None or self.high is None:
            return "inconclusive"
        return verdict_of(self.low, self.high, margin)


def ratio_of_medians(a: Sequence[Array], b: Sequence[Array]) -> RatioEstimate:
    """The median of b over the median of a, process by process."""
    return _ratio(a, b, np.median)


def ratio_of_means(a: Sequence[Array], b: Sequence[Array]) -> RatioEstimate:
    """The mean of b over the mean of a, process by process: what many calls cost in total."""
    return _ratio(a, b, np.mean)


def _ratio(
    a: Sequence[Array], b: Sequence[Array], centre: Callable[[Array], object]
) -> RatioEstimate:
    if len(a) < FEWEST_PROCESSES:
        a = _parts(a)
        b = _parts(b)
    logs = []
    for values_a, values_b in zip(a, b, strict=True):
        log_a = math.log(float(centre(values_a)))  # type: ignore[arg-type]
        log_b = math.log(float(centre(values_b)))  # type: ignore[arg-type]
        logs.append(np.array([log_b - log_a]))
    try:
        found = log_interval(logs, 0.5, LEVEL)
    except TooFewSamples:
        middle = float(np.median(np.concatenate(logs)))
        return RatioEstimate(math.exp(middle), None, None)
    return RatioEstimate(
        ratio=math.exp(found.estimate),
        low=math.exp(found.low),
        high=math.exp(found.high),
    )


def _parts(series: Sequence[Array]) -> list[Array]:
    """Consecutive parts of the values of few processes; the same for both sides, as rounds have both."""
    values = np.concatenate(series)
    count = max(1, min(PARTS, len(values) // SHORTEST_PART))
    return np.array_split(values, count)
