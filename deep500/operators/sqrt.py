from ..contracts.operator import Operator, case


class Sqrt(Operator):
    """The square root of x."""

    def forward(self, xp, x):
        return xp.sqrt(x)

    def backward(self, xp, dy, y):
        return 0.5 * dy / y

    def pytorch(self, torch, x):
        return torch.sqrt(x)

    def jax(self, jax, x):
        return jax.numpy.sqrt(x)

    def tensorflow(self, tf, x):
        return tf.sqrt(x)

    cases = (case(x=[[0.01, 0.5], [2.0, 30.0]]),)
