"""Parts that several update rules share."""

import math
from typing import Any


def bias_correction(xp: Any, beta: float, step: Any) -> Any:
    """1 - beta ** step: the share of a decaying mean that is not its start.

    By way of tanh, which keeps every digit where 1 - exp(…) in float32 would lose four of seven.
    """
    if beta == 0:
        return xp.ones_like(step)
    half = xp.tanh(step * (-math.log(beta) / 2))
    return 2 * half / (1 + half)


def norm(xp: Any, x: Any) -> Any:
    """The Euclidean norm of all elements."""
    return xp.sqrt(xp.sum(xp.square(x)))


def trust_ratio(xp: Any, numerator: Any, denominator: Any) -> Any:
    """The quotient of two norms, and 1 where one of them is zero."""
    both = xp.logical_and(numerator > 0, denominator > 0)
    divisor = xp.where(both, denominator, xp.ones_like(denominator))
    return xp.where(both, numerator / divisor, xp.ones_like(denominator))
