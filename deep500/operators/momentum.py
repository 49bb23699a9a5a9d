from typing import Literal

from ..contracts.operator import case
from ._training import Rule


class Momentum(Rule):
    """A step along a velocity that the gradients drive; Nesterov's mode looks one step ahead."""

    alpha: float
    beta: float
    mode: Literal["standard", "nesterov"]
    norm_coefficient: float
    states = 1

    def update(self, xp, r, t, x, g, v):
        g = g + self.norm_coefficient * x
        v = (
            self.alpha * v
            + xp.where(t > 0, xp.full((), self.beta, x.dtype), xp.full((), 1, x.dtype)) * g
        )
        along = g + self.alpha * v if self.mode == "nesterov" else v
        return x - xp.astype(r, x.dtype) * along, v

    cases = (
        case(
            {"norm_coefficient": 0.001, "alpha": 0.95, "beta": 0.1, "mode": "standard"},
            r=0.1,
            t=0,
            tensors=[(2, 2), (2, 2), (2, 2)],
        ),
        case(
            {"norm_coefficient": 0.01, "alpha": 0.9, "beta": 0.5, "mode": "nesterov"},
            r=0.1,
            t=2,
            tensors=[(2,), (3,), (2,), (3,), (2,), (3,)],
        ),
    )
