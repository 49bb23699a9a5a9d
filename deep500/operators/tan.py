from ..contracts.operator import case
from ._elementwise import Elementwise


class Tan(Elementwise):
    """The tangent of x."""

    since = 7
    cost = 3

    def forward(self, xp, x):
        return xp.sin(x) / xp.cos(x)

    def backward(self, xp, dy, y):
        return dy * (1 + y * y)

    def pytorch(self, torch, x):
        return torch.tan(x)

    def jax(self, jax, x):
        return jax.numpy.tan(x)

    def tensorflow(self, tf, x):
        return tf.tan(x)

    cases = (case(x=[[-4.0, -1.2, -0.001], [0.3, 1.4, 2.0]]),)
