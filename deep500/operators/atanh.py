from ..contracts.operator import case
from ._elementwise import Elementwise


class Atanh(Elementwise):
    """The number whose hyperbolic tangent is x."""

    since = 9
    cost = 4

    def forward(self, xp, x):
        return 0.5 * (xp.log1p(x) - xp.log1p(-x))

    def backward(self, xp, dy, x):
        return dy / ((1 - x) * (1 + x))

    def pytorch(self, torch, x):
        return torch.atanh(x)

    def jax(self, jax, x):
        return jax.numpy.atanh(x)

    def tensorflow(self, tf, x):
        return tf.atanh(x)

    cases = (case(x=[[-0.95, -0.3, 0.001], [0.2, 0.6, 0.9]]), case(x=[-1e-4, 1e-5]))
