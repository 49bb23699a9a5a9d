from ..contracts.operator import Operator, Tensor, case


class BitwiseAnd(Operator):
    """The bits that are set in both a and b."""

    since = 18

    def forward(self, xp, a, b):
        return a & b

    def pytorch(self, torch, a, b):
        return torch.bitwise_and(a, b)

    cases = (
        case(a=Tensor((3, 4), "int32"), b=Tensor((4,), "int32")),
        case(a=Tensor((4,), "uint8"), b=Tensor((4,), "uint8")),
    )
