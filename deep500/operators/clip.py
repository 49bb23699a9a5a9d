import math

from ..contracts.operator import Operator, case


class Clip(Operator):
    """x, but not below `low` and not above `high`; `high` where both contradict each other."""

    since = 11

    def forward(self, xp, x, low=None, high=None):
        return xp.clip(x, low, high)

    def backward(self, xp, dy, x, low, high):
        zero, dlow, dhigh = xp.zeros_like(dy), None, None
        if high is not None:
            above = xp.clip(x, low) > high
            dy, dhigh = xp.where(above, zero, dy), xp.where(above, dy, zero)
        if low is not None:
            below = x < low
            dy, dlow = xp.where(below, zero, dy), xp.where(below, dy, zero)
        return dy, dlow, dhigh

    def pytorch(self, torch, x, low=None, high=None):
        return x if low is None and high is None else torch.clamp(x, low, high)

    def jax(self, jax, x, low=None, high=None):
        return jax.numpy.clip(x, low, high)

    def infer(self, x, low=None, high=None):
        return (x,)

    cases = (
        case(x=(3, 4), low=-0.5, high=1.0),
        case(x=(3, 4), low=None, high=0.6),
        case(x=(5,), low=0.5, high=-0.5),
        case(x=[-3, 0, 5], low=-1),
        case(x=(2, 2)),
    )


class Clip_6(Operator):
    """Clip as it was before opset 11: the limits are attributes."""

    min: float = -math.inf
    max: float = math.inf

    def forward(self, xp, x):
        return xp.clip(x, self.min, self.max)

    def backward(self, xp, dy, x):
        return xp.where((x >= self.min) & (x <= self.max), dy, xp.zeros_like(dy))

    def pytorch(self, torch, x):
        return torch.clamp(x, self.min, self.max)
