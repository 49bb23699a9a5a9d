from ..contracts.operator import Operator, case


class Cos(Operator):
    """The cosine of x."""

    since = 7

    def forward(self, xp, x):
        return xp.cos(x)

    def backward(self, xp, dy, x):
        return -dy * xp.sin(x)

    def pytorch(self, torch, x):
        return torch.cos(x)

    def jax(self, jax, x):
        return jax.numpy.cos(x)

    def tensorflow(self, tf, x):
        return tf.cos(x)

    cases = (case(x=(3, 4)),)
