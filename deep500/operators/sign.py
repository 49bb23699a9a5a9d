from ..contracts.operator import case
from ._elementwise import Flat


class Sign(Flat):
    """-1, 0 or 1."""

    since = 9

    def forward(self, xp, x):
        return xp.sign(x)

    def pytorch(self, torch, x):
        return torch.sign(x)

    def jax(self, jax, x):
        return jax.numpy.sign(x)

    def tensorflow(self, tf, x):
        return tf.sign(x)

    cases = (case(x=(3, 4)), case(x=[-3, 0, 5]))
