from ..contracts.operator import case
from ._elementwise import Elementwise


class Cosh(Elementwise):
    """The hyperbolic cosine of x."""

    since = 9
    cost = 4

    def forward(self, xp, x):
        return xp.cosh(x)

    def backward(self, xp, dy, x):
        return dy * xp.sinh(x)

    def pytorch(self, torch, x):
        return torch.cosh(x)

    def jax(self, jax, x):
        return jax.numpy.cosh(x)

    def tensorflow(self, tf, x):
        return tf.cosh(x)

    cases = (case(x=(3, 4)),)
