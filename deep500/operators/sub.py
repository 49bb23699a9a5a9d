from ..contracts.operator import Operator, TensorSpec, case


class Sub(Operator):
    """a - b, broadcast together."""

    since = 7

    def forward(self, xp, a, b):
        return a - b

    def backward(self, xp, dy):
        return dy, -dy

    def pytorch(self, torch, a, b):
        return torch.sub(a, b)

    def jax(self, jax, a, b):
        return jax.numpy.subtract(a, b)

    def tensorflow(self, tf, a, b):
        return tf.subtract(a, b)

    cases = (
        case(a=(2, 3, 4), b=(3, 1)),
        case(a=(), b=(2, 2)),
        case(a=TensorSpec((3, 4), "int32"), b=TensorSpec((4,), "int32")),
    )
