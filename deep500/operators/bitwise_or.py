from ..contracts.operator import Operator, Tensor, case


class BitwiseOr(Operator):
    """The bits that are set in a or b or both."""

    since = 18

    def forward(self, xp, a, b):
        return a | b

    def pytorch(self, torch, a, b):
        return torch.bitwise_or(a, b)

    cases = (
        case(a=Tensor((3, 4), "int32"), b=Tensor((4,), "int32")),
        case(a=Tensor((4,), "uint8"), b=Tensor((4,), "uint8")),
    )
