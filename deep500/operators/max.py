from functools import reduce

from ..contracts.operator import case
from ._elementwise import ElementwiseExtreme


class Max(ElementwiseExtreme):
    """The largest of the inputs, broadcast together, element by element."""

    def forward(self, xp, *xs):
        return reduce(xp.maximum, xs)

    def pytorch(self, torch, *xs):
        return reduce(torch.maximum, xs)

    cases = (case(xs=[(2, 3, 4), (3, 1), (4,)]), case(xs=[(3,)]), case(xs=[[1, 5], [3, 2]]))
