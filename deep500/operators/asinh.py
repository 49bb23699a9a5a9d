from ..contracts.operator import case
from ._elementwise import Elementwise


class Asinh(Elementwise):
    """The number whose hyperbolic sine is x."""

    since = 9
    cost = 8

    def forward(self, xp, x):
        size = xp.abs(x)
        # the square of 1 / x is finite where that of a large x overflows
        inverse = 1 / xp.maximum(size, 1e-18)
        return xp.sign(x) * xp.log1p(size + size / (inverse + xp.sqrt(1 + inverse * inverse)))

    def backward(self, xp, dy, x):
        return dy / xp.sqrt(1 + x * x)

    def pytorch(self, torch, x):
        return torch.asinh(x)

    def jax(self, jax, x):
        return jax.numpy.asinh(x)

    def tensorflow(self, tf, x):
        return tf.asinh(x)

    cases = (case(x=[[-30.0, -1.2, -0.001], [0.3, 1.4, 2.0]]), case(x=[-1e-4, 1e-5, 0.0, 1e18]))
