import math

from ..contracts.operator import case
from .fixed_function import OddFunction

# 32**k / (1 * 3 * 5 … (2 k + 1)); at x = 4 the rest of the series is below 2**-60 of it
SERIES = [1.0]
for _k in range(1, 80):
    SERIES.append(SERIES[-1] * 32 / (2 * _k + 1))


class Erf(OddFunction):
    """The error function, by the series exp(-x²) 2x/√π (1 + (2x²)/3 + (2x²)²/(3·5) …), whose terms are all positive."""

    bound = 0.50001

    def positive(self, arithmetic, x):
        x = arithmetic.within(x, -1.0, 4.0)  # from 3.92 on it is 1 in float32
        square = arithmetic.times(x, x)
        total = arithmetic.series(square * 0.0625, SERIES)
        factor = arithmetic.times(x, 2 / math.sqrt(math.pi))
        return arithmetic.times(
            factor, arithmetic.times(arithmetic.exp(-square), total)
        )

    def slope(self, arithmetic, x):
        square = arithmetic.times(x, x)
        e = arithmetic.exp(-arithmetic.within(square, -1.0, 200.0))
        return arithmetic.times(e, 2 / math.sqrt(math.pi))

    cases = (case(x=(3, 4)), case(x=[-5.0, -0.0, 1e-5, 3.9, 5.0]))
