from ..contracts.operator import case
from ._elementwise import Elementwise


class Acosh(Elementwise):
    """The number that is not negative and whose hyperbolic cosine is x."""

    since = 9
    cost = 6

    def forward(self, xp, x):
        above = x - 1
        return xp.log1p(above + xp.sqrt(above) * xp.sqrt(x + 1))

    def backward(self, xp, dy, x):
        return dy / xp.sqrt((x - 1) * (x + 1))

    def pytorch(self, torch, x):
        return torch.acosh(x)

    def jax(self, jax, x):
        return jax.numpy.acosh(x)

    def tensorflow(self, tf, x):
        return tf.acosh(x)

    cases = (case(x=[1.01, 1.5, 3.0, 40.0]),)
