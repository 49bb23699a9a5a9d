from ..contracts.operator import Operator, case


class Reciprocal(Operator):
    """1 / x."""

    def forward(self, xp, x):
        return xp.reciprocal(x)

    def backward(self, xp, dy, y):
        return -dy * y * y

    def pytorch(self, torch, x):
        return torch.reciprocal(x)

    def jax(self, jax, x):
        return jax.numpy.reciprocal(x)

    def tensorflow(self, tf, x):
        return tf.math.reciprocal(x)

    cases = (case(x=(3, 4)),)
