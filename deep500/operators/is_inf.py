import math

from ..contracts.operator import case
from ._elementwise import Predicate


class IsInf(Predicate):
    """Where x is infinite, in the directions that are asked for."""

    since = 10
    detect_negative: int = 1
    detect_positive: int = 1

    def forward(self, xp, x):
        if self.detect_positive and self.detect_negative:
            return xp.abs(x) == math.inf
        if self.detect_positive or self.detect_negative:
            return x == (math.inf if self.detect_positive else -math.inf)
        return xp.full(x.shape, False, "bool")

    cases = (
        case(x=[1.0, math.inf, -math.inf, math.nan]),
        case({"detect_negative": 0}, x=[1.0, math.inf, -math.inf, math.nan]),
        case({"detect_positive": 0}, x=[1.0, math.inf, -math.inf, math.nan]),
    )
