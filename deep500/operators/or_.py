from ..contracts.operator import case
from ._elementwise import Predicate


class Or(Predicate):
    """Where a or b or both are true."""

    since = 7

    def forward(self, xp, a, b):
        return xp.logical_or(a, b)

    def pytorch(self, torch, a, b):
        return torch.logical_or(a, b)

    cases = (case(a=[[True, False], [False, True]], b=[True, False]),)
