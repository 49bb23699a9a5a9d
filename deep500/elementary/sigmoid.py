from ..contracts.operator import case
from .fixed_function import FixedFunction


class Sigmoid(FixedFunction):
    """1 / (1 + exp(-x))."""

    bound = 0.50001

    def value(self, arithmetic, x):
        e = arithmetic.exp(-arithmetic.within(x, -200.0, 200.0))
        return arithmetic.over(1.0, 1.0 + e)

    def slope(self, arithmetic, x):
        y = self.value(arithmetic, x)
        return arithmetic.times(y, self.value(arithmetic, -x))

    cases = (case(x=(3, 4)), case(x=[-90.0, -20.0, 0.0, 20.0, 90.0]))
