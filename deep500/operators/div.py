from ..contracts.operator import Operator, Tensor, case
from ..namespace import kind


class Div(Operator):
    """a / b, broadcast together; whole numbers leave out the fraction."""

    since = 7

    def forward(self, xp, a, b):
        return a / b if kind(a) == "float" else (a - xp.fmod(a, b)) // b

    def backward(self, xp, dy, b, y):
        return dy / b, -dy * y / b

    def pytorch(self, torch, a, b):
        return torch.div(a, b, rounding_mode=None if kind(a) == "float" else "trunc")

    def jax(self, jax, a, b):
        return jax.lax.div(*jax.numpy.broadcast_arrays(a, b))

    def tensorflow(self, tf, a, b):
        return tf.divide(a, b) if kind(a) == "float" else tf.truncatediv(a, b)

    cases = (
        case(a=(2, 3, 4), b=(3, 1)),
        case(a=(), b=(2, 2)),
        case(a=Tensor((3, 4), "int32"), b=Tensor((4,), "int32")),
    )
