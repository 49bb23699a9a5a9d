from ..contracts.operator import case
from ._elementwise import Elementwise


class Softplus(Elementwise):
    """log(exp(x) + 1)."""

    cost = 6

    def forward(self, xp, x):
        return xp.maximum(x, 0) + xp.log1p(xp.exp(-xp.abs(x)))

    def backward(self, xp, dy, y):
        return -dy * xp.expm1(-y)

    def pytorch(self, torch, x):
        return torch.nn.functional.softplus(x, threshold=40)  # from there on float64 rounds to x

    def jax(self, jax, x):
        return jax.nn.softplus(x)

    def tensorflow(self, tf, x):
        return tf.nn.softplus(x)

    cases = (case(x=(3, 4)), case(x=[-30.0, -10.0, 30.0, 100.0]))
