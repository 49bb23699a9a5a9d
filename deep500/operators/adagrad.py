from ..contracts.operator import case
from ._training import Rule


class Adagrad(Rule):
    """A step against the gradient, divided by the root of the sum of all squares so far."""

    decay_factor: float = 0.0
    epsilon: float = 1e-6
    norm_coefficient: float = 0.0
    states = 1

    def update(self, xp, r, t, x, g, h):
        rate = xp.astype(r, x.dtype) / (1 + self.decay_factor * xp.astype(t, x.dtype))
        g = g + self.norm_coefficient * x
        h = h + xp.square(g)
        return x - rate * g / (xp.sqrt(h) + self.epsilon), h

    cases = (
        case(
            {"norm_coefficient": 0.01, "decay_factor": 0.1, "epsilon": 1e-5},
            r=0.1,
            t=3,
            tensors=[(2, 2), (2, 2), [[2.0, 0.5], [0.0, 1.0]]],
        ),
        case(r=0.1, t=0, tensors=[(2,), (3,), (2,), (3,), [2.0, 0.5], [0.2, 1.0, 0.0]]),
    )
