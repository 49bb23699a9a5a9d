from ..contracts.operator import case
from ._elementwise import Elementwise


class HardSwish(Elementwise):
    """x times its hard sigmoid of slope 1/6."""

    since = 14
    cost = 5

    def forward(self, xp, x):
        return x * xp.clip(x / 6 + 0.5, 0, 1)

    def backward(self, xp, dy, x):
        inner = dy * (x / 3 + 0.5)
        return xp.where(x >= 3, dy, xp.where(x > -3, inner, xp.zeros_like(dy)))

    def pytorch(self, torch, x):
        return torch.nn.functional.hardswish(x)

    def jax(self, jax, x):
        return jax.nn.hard_swish(x)

    cases = (case(x=[[-5.0, -2.9, -1.0], [0.2, 2.9, 4.0]]),)
