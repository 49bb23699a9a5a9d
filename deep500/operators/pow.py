from ..contracts.operator import Operator, case
from ..namespace import kind


class Pow(Operator):
    """a to the power of b, in the dtype of a."""

    since = 7

    def forward(self, xp, a, b):
        if kind(a) != "float" and kind(b) == "float":
            return xp.astype(xp.pow(xp.astype(a, b.dtype), b), a.dtype)
        return xp.pow(a, xp.astype(b, a.dtype))

    def backward(self, xp, dy, a, b, y):
        b = xp.astype(b, a.dtype)
        da = dy * b * xp.pow(a, xp.where(b == 0, 1, b - 1))  # a constant also where a is 0
        positive = a > 0  # elsewhere there is no derivative by the exponent, or it is 0
        return da, xp.where(positive, dy * y * xp.log(xp.where(positive, a, 1)), xp.zeros_like(dy))

    def pytorch(self, torch, a, b):
        return torch.pow(a, b).to(a.dtype)

    def jax(self, jax, a, b):
        return jax.numpy.power(a, b).astype(a.dtype)

    cases = (
        case(a=[[0.3, 1.0], [2.5, 7.0]], b=[2.0, -0.5]),
        case(a=[-1.5, 0.0, 0.0, 2.0], b=[2, 3, 0, -1]),
        case(a=[2, -3, 5], b=[3, 2, 0]),
        case(a=[1, 4, 9], b=0.5),
    )
