from ..contracts.operator import Operator, case


class Neg(Operator):
    """-x."""

    def forward(self, xp, x):
        return -x

    def backward(self, xp, dy):
        return -dy

    def pytorch(self, torch, x):
        return torch.neg(x)

    def jax(self, jax, x):
        return jax.numpy.negative(x)

    def tensorflow(self, tf, x):
        return tf.negative(x)

    cases = (case(x=(3, 4)), case(x=[-3, 0, 5]))
