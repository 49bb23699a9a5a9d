from ..contracts.operator import case
from ._elementwise import Predicate


class And(Predicate):
    """Where both a and b are true."""

    since = 7

    def forward(self, xp, a, b):
        return xp.logical_and(a, b)

    def pytorch(self, torch, a, b):
        return torch.logical_and(a, b)

    cases = (case(a=[[True, False], [False, True]], b=[True, False]),)
