import math

from ..contracts.operator import case
from .fixed_function import FixedFunction, wide_and_arithmetic


class Rsqrt(FixedFunction):
    """1 / sqrt(x); infinite with the sign of x for 0, NaN for negative numbers."""

    bound = 0.50001

    def value(self, arithmetic, x):
        xp = arithmetic.xp
        is_usual = (x > 0) & (x < math.inf)
        y = arithmetic.over(1.0, arithmetic.sqrt(xp.where(is_usual, x, 1.0)))
        y = xp.where(x == math.inf, 0.0, y)
        y = xp.where(x == 0, math.inf, y)
        return xp.where(x < 0, math.nan, y)

    def forward(self, xp, x):
        wide, arithmetic = wide_and_arithmetic(xp, x)
        is_nan = xp.isnan(wide)
        y = self.value(arithmetic, xp.where(is_nan, -1.0, wide))
        return xp.narrow(y * xp.unit(wide))

    def slope(self, arithmetic, x):
        y = self.value(arithmetic, x)
        return -0.5 * arithmetic.times(y, arithmetic.times(y, y))

    cases = (case(x=[0.01, 0.5, 1.0, 4.0, 1e30]),)
