from ..contracts.operator import Operator, case


class Exp(Operator):
    """e to the power of x."""

    def forward(self, xp, x):
        return xp.exp(x)

    def backward(self, xp, dy, y):
        return dy * y

    def pytorch(self, torch, x):
        return torch.exp(x)

    def jax(self, jax, x):
        return jax.numpy.exp(x)

    def tensorflow(self, tf, x):
        return tf.exp(x)

    cases = (case(x=(3, 4)),)
