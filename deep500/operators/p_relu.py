from ..contracts.operator import case
from ._elementwise import Elementwise


class PRelu(Elementwise):
    """x where x is positive, slope * x elsewhere; the slope is broadcast to x."""

    since = 7
    cost = 2

    def forward(self, xp, x, slope):
        return xp.where(x > 0, x, slope * x)

    def backward(self, xp, dy, x, slope):
        return xp.where(x > 0, dy, slope * dy), xp.where(x > 0, xp.zeros_like(dy), x * dy)

    cases = (case(x=(2, 3, 4), slope=(3, 1)), case(x=(3, 4), slope=()))
