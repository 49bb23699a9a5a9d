from ..contracts.operator import Operator, case


class Sin(Operator):
    """The sine of x."""

    since = 7

    def forward(self, xp, x):
        return xp.sin(x)

    def backward(self, xp, dy, x):
        return dy * xp.cos(x)

    def pytorch(self, torch, x):
        return torch.sin(x)

    def jax(self, jax, x):
        return jax.numpy.sin(x)

    def tensorflow(self, tf, x):
        return tf.sin(x)

    cases = (case(x=(3, 4)),)
