import math

from ..contracts.operator import case
from .fixed_function import FixedFunction


class Log(FixedFunction):
    """The natural logarithm; -infinity of 0, NaN of negative numbers."""

    bound = 0.50001

    def value(self, arithmetic, x):
        xp = arithmetic.xp
        is_usual = (x > 0) & (x < math.inf)
        y = arithmetic.log(xp.where(is_usual, x, 1.0))
        y = xp.where(x == 0, -math.inf, y)
        y = xp.where(x == math.inf, math.inf, y)
        return xp.where(x < 0, math.nan, y)

    def slope(self, arithmetic, x):
        is_zero = x == 0
        slope = arithmetic.over(1.0, arithmetic.xp.where(is_zero, 1.0, x))
        return arithmetic.xp.where(is_zero, math.inf, slope)

    cases = (case(x=[0.1, 0.5, 1.0, 2.0, 1e30]),)
