from ..contracts.operator import case
from .fixed_function import FixedFunction


class Exp(FixedFunction):
    """e to the power of x."""

    bound = 0.50001

    def value(self, arithmetic, x):
        # beyond these it is 0 and infinite in float32
        return arithmetic.exp(arithmetic.within(x, -200.0, 200.0))

    slope = value

    cases = (case(x=(3, 4)), case(x=[-104.0, -90.0, -0.0, 88.5, 89.0]))
