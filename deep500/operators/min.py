from functools import reduce

from ..contracts.operator import case
from ._elementwise import ElementwiseExtreme


class Min(ElementwiseExtreme):
    """The smallest of the inputs, broadcast together, element by element."""

    def forward(self, xp, *xs):
        return reduce(xp.minimum, xs)

    def pytorch(self, torch, *xs):
        return reduce(torch.minimum, xs)

    cases = (case(xs=[(2, 3, 4), (3, 1), (4,)]), case(xs=[(3,)]), case(xs=[[1, 5], [3, 2]]))
