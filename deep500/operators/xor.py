from ..contracts.operator import case
from ._elementwise import Predicate


class Xor(Predicate):
    """Where either a or b is true."""

    since = 7

    def forward(self, xp, a, b):
        return xp.xor(a, b)

    def pytorch(self, torch, a, b):
        return torch.logical_xor(a, b)

    cases = (case(a=[[True, False], [False, True]], b=[True, False]),)
