from ..contracts.operator import case
from ._training import Rule


class Adam(Rule):
    """A step along the mean of the gradients, divided by the root of the mean of their squares."""

    alpha: float = 0.9
    beta: float = 0.999
    epsilon: float = 1e-6
    norm_coefficient: float = 0.0
    norm_coefficient_post: float = 0.0
    states = 2

    def update(self, xp, r, t, x, g, v, h):
        g = g + self.norm_coefficient * x
        v = self.alpha * v + (1 - self.alpha) * g
        h = self.beta * h + (1 - self.beta) * xp.square(g)
        x = x - xp.astype(self._rate(xp, r, t), x.dtype) * v / (xp.sqrt(h) + self.epsilon)
        return (1 - self.norm_coefficient_post) * x, v, h

    def _rate(self, xp, r, t):
        """In float64: the powers of beta are close to 1. The first step is taken as it is."""
        r, count = (
            xp.astype(r, "float64"),
            xp.astype(xp.where(t > 0, t, xp.ones_like(t)), "float64"),
        )
        powers = [
            xp.pow(xp.full(count.shape, base, "float64"), count) for base in (self.alpha, self.beta)
        ]
        return xp.where(t > 0, r * xp.sqrt(1 - powers[1]) / (1 - powers[0]), r)

    cases = (
        case(
            {"norm_coefficient": 0.01, "norm_coefficient_post": 0.1, "alpha": 0.95, "beta": 0.1},
            r=0.1,
            t=3,
            tensors=[(2, 2), (2, 2), (2, 2), [[2.0, 0.5], [0.0, 1.0]]],
        ),
        case(r=0.1, t=0, tensors=[(2,), (3,), (2,), (3,), (2,), (3,), [2.0, 0.5], [0.2, 1.0, 0.1]]),
        case(r=0.1, t=2, tensors=[(2,), (2,), (2,), [0.2, 0.5]]),
    )
