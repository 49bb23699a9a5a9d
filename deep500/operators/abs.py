from ..contracts.operator import Operator, case


class Abs(Operator):
    """The magnitude of x."""

    def forward(self, xp, x):
        return xp.abs(x)

    def backward(self, xp, dy, x):
        return dy * xp.sign(x)

    def pytorch(self, torch, x):
        return torch.abs(x)

    def jax(self, jax, x):
        return jax.numpy.abs(x)

    def tensorflow(self, tf, x):
        return tf.abs(x)

    cases = (case(x=(3, 4)), case(x=()), case(x=[-3, 0, 5]))
