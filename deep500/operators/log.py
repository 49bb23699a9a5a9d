from ..contracts.operator import Operator, case


class Log(Operator):
    """The natural logarithm of x."""

    def forward(self, xp, x):
        return xp.log(x)

    def backward(self, xp, dy, x):
        return dy / x

    def pytorch(self, torch, x):
        return torch.log(x)

    def jax(self, jax, x):
        return jax.numpy.log(x)

    def tensorflow(self, tf, x):
        return tf.math.log(x)

    cases = (case(x=[0.1, 0.5, 2.0, 30.0]),)
