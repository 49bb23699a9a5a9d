"""The range in which the values of a quantity lie, and the line without ends on which its intervals are computed."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

LARGEST_LOG = 709.0  # exp of more is beyond the range of floats


@dataclass(frozen=True)
class Scale:
    """All numbers from `low` to `high`.

    Log-odds stretch a range with two ends to the whole line, a logarithm one with a single end.
    """

    low: float = -math.inf
    high: float = math.inf

    @property
    def name(self) -> str:
        """What `stretched` makes of the values."""
        if math.isfinite(self.low) and math.isfinite(self.high):
            return "log-odds"
        if math.isfinite(self.low):
            return "logarithms"
        if math.isfinite(self.high):
            return f"logarithms of the distances to {self.high:g}"
        return "values"

    def holds(self, values: Iterable[float]) -> bool:
        return all(self.low <= value <= self.high for value in values)

    def stretched(self, value: float) -> float:
        """The place of a value on the whole line; infinite at an end of the range."""
        if value <= self.low:
            return -math.inf
        if value >= self.high:
            return math.inf
        below = above = 0.0
        if math.isfinite(self.low):
            below = math.log(value - self.low)
        if math.isfinite(self.high):
            above = math.log(self.high - value)
        if self == REAL:
            return value
        return below - above

    def value_at(self, place: float) -> float:
        """The value at a place of the whole line: the inverse of `stretched`."""
        if self == REAL:
            return place
        place = max(-LARGEST_LOG, min(place, LARGEST_LOG))
        if not math.isfinite(self.high):
            return self.low + math.exp(place)
        if not math.isfinite(self.low):
            return self.high - math.exp(-place)
        share = 1 / (1 + math.exp(-place))
        return self.clipped(self.low + (self.high - self.low) * share)

    def clipped(self, value: float) -> float:
        return max(self.low, min(value, self.high))


REAL = Scale()
POSITIVE = Scale(low=0.0)
SHARE = Scale(low=0.0, high=100.0)  # in per cent


def fitting_scale(scale: Scale, values: Iterable[float]) -> Scale:
    """The scale, or where a value lies outside of it the next wider one."""
    known = list(values)
    for wider in (scale, POSITIVE):
        if wider.holds(known):
            return wider
    return REAL
