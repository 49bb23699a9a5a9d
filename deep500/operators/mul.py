from ..contracts.operator import Operator, case


class Mul(Operator):
    """a * b, broadcast together."""

    since = 7

    def forward(self, xp, a, b):
        return a * b

    def backward(self, xp, dy, a, b):
        return dy * b, dy * a

    def pytorch(self, torch, a, b):
        return torch.mul(a, b)

    def jax(self, jax, a, b):
        return jax.numpy.multiply(a, b)

    def tensorflow(self, tf, a, b):
        return tf.multiply(a, b)

    cases = (
        case(a=(3, 4), b=(3, 4)),
        case(a=(2, 3, 4), b=(3, 1)),
        case(a=(4,), b=(2, 1, 4)),
        case(a=(3, 1), b=(1, 5)),
        case(a=(), b=(2, 2)),
        case(a=(0, 3), b=(3,)),
    )
