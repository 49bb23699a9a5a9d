from ..contracts.operator import case
from ._elementwise import Elementwise


class Sinh(Elementwise):
    """The hyperbolic sine of x."""

    since = 9
    cost = 5

    def forward(self, xp, x):
        return xp.sinh(x)

    def backward(self, xp, dy, x):
        return dy * xp.cosh(x)

    def pytorch(self, torch, x):
        return torch.sinh(x)

    def jax(self, jax, x):
        return jax.numpy.sinh(x)

    def tensorflow(self, tf, x):
        return tf.sinh(x)

    cases = (case(x=(3, 4)), case(x=[-1e-4, 1e-5]))
