from ..contracts.operator import Operator, TensorSpec, case
from ..namespace import kind


class Div(Operator):
    """a / b, broadcast together; whole numbers leave out the fraction."""

    since = 7

    def forward(self, xp, a, b):
        if kind(a) == "float":
            return a / b
        if "uint" in str(a.dtype):
            return (a - xp.fmod(a, b)) // b
        negated = b == -1  # apart: the least integer divided by -1 ends some processes
        divisor = xp.where(negated, xp.ones_like(b), b)
        return xp.where(negated, -a, (a - xp.fmod(a, divisor)) // divisor)

    def backward(self, xp, dy, b, y):
        return dy / b, -dy * y / b

    def pytorch(self, torch, a, b):
        if kind(a) == "float":
            return torch.div(a, b)
        if not a.dtype.is_signed:
            return torch.div(a, b, rounding_mode="trunc")
        negated = b == -1
        quotient = torch.div(a, b.masked_fill(negated, 1), rounding_mode="trunc")
        return torch.where(negated, -a, quotient)

    def jax(self, jax, a, b):
        return jax.lax.div(*jax.numpy.broadcast_arrays(a, b))

    def tensorflow(self, tf, a, b):
        return tf.divide(a, b) if kind(a) == "float" else tf.truncatediv(a, b)

    cases = (
        case(a=(2, 3, 4), b=(3, 1)),
        case(a=(), b=(2, 2)),
        case(a=TensorSpec((3, 4), "int32"), b=TensorSpec((4,), "int32")),
        case(a=TensorSpec((3, 4), "uint8"), b=TensorSpec((4,), "uint8")),
    )
