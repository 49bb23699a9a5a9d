import math

from ..contracts.operator import case
from ._elementwise import Predicate


class IsNaN(Predicate):
    """Where x is not a number."""

    since = 9

    def forward(self, xp, x):
        return xp.isnan(x)

    def pytorch(self, torch, x):
        return torch.isnan(x)

    cases = (case(x=[[1.0, math.nan], [-math.inf, 0.0]]),)
