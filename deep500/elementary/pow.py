import math

from ..contracts.operator import Operator, broadcast_shapes, case
from .fixed_function import wide_and_arithmetic


class Pow(Operator):
    """x to the power of y, with the special values of C99: x**0 and 1**y are 1, also for NaN."""

    domain = "deep500"
    bound = 0.50001

    def forward(self, xp, x, exponent):
        x, exponent, arithmetic = _wide(xp, x, exponent)
        return xp.narrow(_power(arithmetic, x, exponent))

    def backward(self, xp, dy, x, exponent):
        shape = dy.shape
        x, exponent, arithmetic = _wide(xp, x, exponent)
        dy = xp.broadcast_to(xp.widen(dy), shape)
        slope = arithmetic.times(exponent, _power(arithmetic, x, exponent - 1.0))
        dx = arithmetic.times(dy, xp.where(exponent == 0, 0.0, slope))
        is_usual = (x > 0) & (x < math.inf)
        log_x = arithmetic.log(xp.where(is_usual, x, 1.0))
        growth = arithmetic.times(_power(arithmetic, x, exponent), log_x)
        return xp.narrow(dx), xp.narrow(arithmetic.times(dy, growth))

    cases = (
        case(x=[0.5, 1.0, 2.0, 3.0], exponent=[2.0, -1.5, 0.5, 3.0]),
        case(x=[[0.5], [2.0]], exponent=[1.0, 2.5, -3.0]),
    )


def _wide(xp, x, exponent):
    """Both in float64 and in one shape."""
    shape = broadcast_shapes([tuple(x.shape), tuple(exponent.shape)])
    x, _ = wide_and_arithmetic(xp, xp.broadcast_to(x, shape))
    exponent, arithmetic = wide_and_arithmetic(xp, xp.broadcast_to(exponent, shape))
    return x, exponent, arithmetic


def _power(arithmetic, x, exponent):
    """Of arrays in float64."""
    xp = arithmetic.xp
    is_nan = xp.isnan(x) | xp.isnan(exponent)
    is_one = (exponent == 0) | (x == 1)
    size = xp.abs(x)
    is_usual = (size > 0) & (size < math.inf)
    # beyond 1e39 a power of a float32 is what it is for an infinite exponent
    y = arithmetic.within(xp.where(is_nan, 1.0, exponent), -1e39, 1e39)
    log_x = arithmetic.log(xp.where(is_usual, size, 1.0))
    product = arithmetic.within(arithmetic.times(y, log_x), -200.0, 200.0)
    power = arithmetic.exp(product)
    is_infinite = ((size == 0) & (y < 0)) | ((size == math.inf) & (y > 0))
    power = xp.where(is_usual, power, 0.0)
    power = xp.where(is_infinite, math.inf, power)
    is_whole = xp.floor(y) == y
    is_odd = is_whole & (xp.abs(y) < 2.0**24) & (2.0 * xp.floor(0.5 * y) != y)
    power = xp.where((x < 0) & is_usual & xp.logical_not(is_whole), math.nan, power)
    power = xp.where(is_one, 1.0, xp.where(is_nan, math.nan, power))
    return power * xp.where(is_odd, xp.unit(x), 1.0)
