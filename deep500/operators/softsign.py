from ..contracts.operator import case
from ._elementwise import Elementwise


class Softsign(Elementwise):
    """x / (1 + |x|)."""

    cost = 3

    def forward(self, xp, x):
        return x / (1 + xp.abs(x))

    def backward(self, xp, dy, x):
        return dy / xp.square(1 + xp.abs(x))

    def pytorch(self, torch, x):
        return torch.nn.functional.softsign(x)

    def jax(self, jax, x):
        return jax.nn.soft_sign(x)

    def tensorflow(self, tf, x):
        return tf.nn.softsign(x)

    cases = (case(x=(3, 4)),)
