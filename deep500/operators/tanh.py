from ..contracts.operator import Operator, case


class Tanh(Operator):
    """The hyperbolic tangent of x."""

    def forward(self, xp, x):
        return xp.tanh(x)

    def backward(self, xp, dy, y):
        return dy * (1 - y) * (1 + y)

    def pytorch(self, torch, x):
        return torch.tanh(x)

    def jax(self, jax, x):
        return jax.numpy.tanh(x)

    def tensorflow(self, tf, x):
        return tf.tanh(x)

    cases = (case(x=(3, 4)), case(x=()))
