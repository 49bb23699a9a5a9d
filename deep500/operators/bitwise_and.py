from ..contracts.operator import Operator, TensorSpec, case


class BitwiseAnd(Operator):
    """The bits that are set in both a and b."""

    since = 18

    def forward(self, xp, a, b):
        return a & b

    def pytorch(self, torch, a, b):
        return torch.bitwise_and(a, b)

    cases = (
        case(a=TensorSpec((3, 4), "int32"), b=TensorSpec((4,), "int32")),
        case(a=TensorSpec((4,), "uint8"), b=TensorSpec((4,), "uint8")),
    )
