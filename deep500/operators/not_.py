from ..contracts.operator import case
from ._elementwise import Predicate


class Not(Predicate):
    """True where x is false."""

    def forward(self, xp, x):
        return xp.logical_not(x)

    def pytorch(self, torch, x):
        return torch.logical_not(x)

    cases = (case(x=[[True, False], [False, False]]),)
