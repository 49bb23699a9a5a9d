"""Formulas that several update rules share."""

import math
from typing import Any


def bias_correction(xp: Any, beta: float, step: Any) -> Any:
    """Return 1 - beta ** step, the share of a decaying mean that does not come from its initial zeros.

    It is computed by tanh, which keeps all digits, while 1 - exp(…) in float32 would lose four of seven.
    """
    if beta == 0:
        return xp.ones_like(step)
    half_decay = -math.log(beta) / 2
    half = xp.tanh(step * half_decay)
    return 2 * half / (1 + half)


def norm(xp: Any, x: Any) -> Any:
    """Return the Euclidean norm of all elements."""
    squares = xp.square(x)
    return xp.sqrt(xp.sum(squares))


def trust_ratio(xp: Any, numerator: Any, denominator: Any) -> Any:
    """Return the quotient of two norms, or 1 if one of them is zero."""
    both = xp.logical_and(numerator > 0, denominator > 0)
    divisor = xp.where(both, denominator, xp.ones_like(denominator))
    quotient = numerator / divisor
    return xp.where(both, quotient, xp.ones_like(denominator))
