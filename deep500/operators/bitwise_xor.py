from ..contracts.operator import Operator, Tensor, case


class BitwiseXor(Operator):
    """The bits that are set in either a or b."""

    since = 18

    def forward(self, xp, a, b):
        return xp.xor(a, b)

    def pytorch(self, torch, a, b):
        return torch.bitwise_xor(a, b)

    cases = (
        case(a=Tensor((3, 4), "int32"), b=Tensor((4,), "int32")),
        case(a=Tensor((4,), "uint8"), b=Tensor((4,), "uint8")),
    )
