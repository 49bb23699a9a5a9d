"""exp, log … of float64 arrays by +, -, *, / and sqrt in a fixed order: the same bits on every framework and machine.

A compiler may join a product and a sum into one rounding (fma), or move a division. Every product and every quotient
that is rounded therefore stands apart from what comes after it. elementary.cpp holds the same steps in C++.
"""

import math
from collections.abc import Sequence
from typing import Any

from ..namespace import Array, Namespace

LOG2_E = 1 / math.log(2)
# ln 2 in two numbers; the first has 32 bits, so that its product with an exponent is exact
LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
SQRT2 = math.sqrt(2)
# (exp(r) - 1) / r for |r| <= ln(2) / 2: the rest of the series is below 2**-57 of it
EXP_SERIES = [1 / math.factorial(k) for k in range(1, 15)]
# (atanh(s) / s - 1) / s**2 for |s| <= 0.1716: the rest is below 2**-60 of atanh(s) / s
ATANH_SERIES = [1 / (2 * k + 1) for k in range(1, 12)]


class Arithmetic:
    """The functions on arrays that are shaped as x."""

    def __init__(self, xp: Namespace, x: Array):
        self.xp = xp
        self.zero = xp.hidden_zero(x)

    def times(self, x: Any, y: Any) -> Array:
        return self.xp.apart(x * y, self.zero)

    def over(self, x: Any, y: Any) -> Array:
        return self.xp.apart(x / y, self.zero)

    def series(self, x: Array, coefficients: Sequence[float]) -> Array:
        """c0 + c1 x + c2 x**2 …, by Horner's rule."""
        *lower, total = coefficients
        for coefficient in reversed(lower):
            total = self.times(x, total) + coefficient
        return total

    def within(self, x: Array, low: float, high: float) -> Array:
        x = self.xp.where(x < high, x, high)
        return self.xp.where(x > low, x, low)

    def exp_parts(self, x: Array) -> tuple[Array, Array]:
        """(p, s) with exp(x) = (1 + p) s, where s is a power of two and |p| <= 0.42; |x| <= 700."""
        n = self.xp.floor(self.times(x, LOG2_E) + 0.5)
        r = (x - n * LN2_HIGH) - self.times(n, LN2_LOW)
        p = self.times(r, self.series(r, EXP_SERIES))
        return p, self.xp.power_of_two(n)

    def exp(self, x: Array) -> Array:
        p, scale = self.exp_parts(x)
        return (1.0 + p) * scale

    def exp_minus_1(self, x: Array) -> Array:
        p, scale = self.exp_parts(x)
        return p * scale + (scale - 1.0)

    def sqrt(self, x: Array) -> Array:
        return self.xp.apart(self.xp.sqrt(x), self.zero)

    def log(self, x: Array) -> Array:
        """Of positive normal numbers."""
        xp = self.xp
        n = xp.exponent(x)
        m = x * xp.power_of_two(-n)
        is_large = m > SQRT2
        m = xp.where(is_large, m * 0.5, m)
        n = xp.where(is_large, n + 1.0, n)
        f = m - 1.0
        s = self.over(f, f + 2.0)
        square = self.times(s, s)
        rest = self.times(square, self.series(square, ATANH_SERIES))
        log_m = 2.0 * (s + self.times(s, rest))
        return n * LN2_HIGH + (self.times(n, LN2_LOW) + log_m)
