from ..contracts.operator import case
from ._elementwise import Predicate


class GreaterOrEqual(Predicate):
    """Where a is greater than or equal to b."""

    since = 12

    def forward(self, xp, a, b):
        return a >= b

    def pytorch(self, torch, a, b):
        return torch.ge(a, b)

    cases = (case(a=[[1.0, 2.0], [3.0, 4.0]], b=[2.0, 2.0]), case(a=[-1, 5], b=[[5], [-1]]))
