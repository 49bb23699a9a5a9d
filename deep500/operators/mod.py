from ..contracts.operator import TensorSpec, case
from ._elementwise import Elementwise


class Mod(Elementwise):
    """The remainder of a / b: with the sign of b, or with that of a (fmod)."""

    since = 10
    cost = 3
    fmod: int = 0

    def forward(self, xp, a, b):
        rest = xp.fmod(a, b)
        if self.fmod:
            return rest
        other_sign = (rest != 0) & xp.xor(rest < 0, b < 0)
        return xp.where(other_sign, rest + b, rest)

    def backward(self, xp, dy, a, b, y):
        return dy, -dy * (a - y) / b

    def pytorch(self, torch, a, b):
        return torch.fmod(a, b) if self.fmod else torch.remainder(a, b)

    cases = (
        case(a=TensorSpec((3, 4), "int32"), b=TensorSpec((4,), "int32")),
        case({"fmod": 1}, a=TensorSpec((3, 4), "int64"), b=TensorSpec((4,), "int64")),
        case({"fmod": 1}, a=[[-7.3, 5.2], [0.4, 9.5]], b=[2.5, -0.7]),
    )
