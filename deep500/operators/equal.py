from ..contracts.operator import case
from ._elementwise import Predicate


class Equal(Predicate):
    """Where a equals b."""

    since = 7

    def forward(self, xp, a, b):
        return a == b

    def pytorch(self, torch, a, b):
        return torch.eq(a, b)

    cases = (
        case(a=[[1.0, 2.0], [3.0, 4.0]], b=[2.0, 2.0]),
        case(a=[-1, 5], b=[[5], [-1]]),
        case(a=[True, False], b=[True, True]),
    )
