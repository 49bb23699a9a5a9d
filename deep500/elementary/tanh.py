from ..contracts.operator import case
from .fixed_function import OddFunction


class Tanh(OddFunction):
    """The hyperbolic tangent."""

    bound = 0.50001

    def positive(self, arithmetic, x):
        # from 9.1 on it is 1 in float32
        e = arithmetic.exp_minus_1(2.0 * arithmetic.within(x, -1.0, 20.0))
        return arithmetic.over(e, e + 2.0)

    def slope(self, arithmetic, x):
        y = self.value(arithmetic, x)
        return 1.0 - arithmetic.times(y, y)

    cases = (case(x=(3, 4)), case(x=[-20.0, -0.0, 1e-5, 20.0]))
