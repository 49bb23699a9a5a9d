from functools import reduce
from operator import add

from ..contracts.operator import case
from ._elementwise import Variadic


class Sum(Variadic):
    """The sum of the inputs, broadcast together, element by element."""

    def forward(self, xp, *xs):
        return reduce(add, xs)

    def backward(self, xp, dy, xs):
        return (dy,) * len(xs)

    cases = (case(xs=[(2, 3, 4), (3, 1), (4,)]), case(xs=[(3,)]))
