import math

from ..contracts.operator import Operator, case


class Erf(Operator):
    """The error function."""

    since = 9

    def forward(self, xp, x):
        return xp.erf(x)

    def backward(self, xp, dy, x):
        return dy * (2 / math.sqrt(math.pi)) * xp.exp(-x * x)

    def pytorch(self, torch, x):
        return torch.erf(x)

    def jax(self, jax, x):
        return jax.lax.erf(x)

    def tensorflow(self, tf, x):
        return tf.math.erf(x)

    cases = (case(x=(3, 4)),)
