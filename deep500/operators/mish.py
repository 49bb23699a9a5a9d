from ..contracts.operator import case
from ._elementwise import Elementwise


class Mish(Elementwise):
    """x * tanh(log(exp(x) + 1))."""

    since = 18
    cost = 8

    def forward(self, xp, x):
        return x * xp.tanh(_softplus(xp, x))

    def backward(self, xp, dy, x):
        plus = _softplus(xp, x)
        bend = xp.tanh(plus)
        return dy * (bend - x * (1 - bend) * (1 + bend) * xp.expm1(-plus))

    def pytorch(self, torch, x):
        return torch.nn.functional.mish(x)

    def jax(self, jax, x):
        return jax.nn.mish(x)

    cases = (case(x=(3, 4)), case(x=[-10.0, -1.0, 10.0]))


def _softplus(xp, x):
    return xp.maximum(x, 0) + xp.log1p(xp.exp(-xp.abs(x)))
