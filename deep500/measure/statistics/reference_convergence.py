"""How fast a training can converge by chance: MLPerf's test of a submission against reference convergence points.

Both means leave out the fastest and the slowest runs. The spread is that of the reference, also for the submission.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .distributions import student_t_quantile


@dataclass(frozen=True)
class ReferencePoint:
    """What runs of a reference with one batch size needed until the target."""

    batch: float
    mean: float
    spread: float
    runs: int  # that the mean is of

    def least(self, runs: int, level: float = 0.95) -> float:
        """A mean of so many runs that is below this is less than chance explains."""
        degrees = self.runs + runs - 2
        if degrees < 1:
            return 0.0
        error = self.spread * math.sqrt(1 / self.runs + 1 / runs)
        return max(0.0, self.mean - student_t_quantile(level, degrees) * error)


def trimmed(values: Sequence[float], dropped: int) -> list[float]:
    """The values without this many of the smallest and of the largest; none if too few are left."""
    return sorted(values)[dropped : len(values) - dropped]


def reference_point(
    batch: float, needed: Sequence[float], dropped: int
) -> ReferencePoint | None:
    """The point of these runs; None if too few are left."""
    kept = trimmed(needed, dropped)
    if not kept:
        return None
    whole_mean = math.fsum(needed) / len(needed)
    squares = [(value - whole_mean) ** 2 for value in needed]
    spread = math.sqrt(math.fsum(squares) / len(needed))
    return ReferencePoint(batch, math.fsum(kept) / len(kept), spread, len(kept))


def lower_envelope(points: Sequence[ReferencePoint]) -> list[ReferencePoint]:
    """The points by batch size, without those that converge more slowly than their neighbours let expect."""
    if not points:
        return []
    fastest = min(points, key=lambda point: point.mean)
    kept = sorted(
        (point for point in points if point.batch >= fastest.batch),
        key=lambda point: point.batch,
    )
    place = 1
    while place < len(kept) - 1:
        expected = interpolated(kept[place - 1], kept[place + 1], kept[place].batch)
        if kept[place].mean > expected.mean:
            del kept[place]
        else:
            place += 1
    return kept


def interpolated(
    low: ReferencePoint, high: ReferencePoint, batch: float
) -> ReferencePoint:
    """The point between two, on a straight line."""
    share = (batch - low.batch) / (high.batch - low.batch)
    return ReferencePoint(
        batch,
        low.mean + share * (high.mean - low.mean),
        low.spread + share * (high.spread - low.spread),
        min(low.runs, high.runs),
    )


def at_batch(points: Sequence[ReferencePoint], batch: float) -> ReferencePoint | None:
    """The reference for a batch size, from points in order; None outside of their range."""
    for point in points:
        if point.batch == batch:
            return point
    for low, high in pairwise(points):
        if low.batch < batch < high.batch:
            return interpolated(low, high, batch)
    return None
