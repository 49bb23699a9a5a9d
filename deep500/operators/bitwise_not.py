from ..contracts.operator import Operator, TensorSpec, case


class BitwiseNot(Operator):
    """Every bit of x the other way round."""

    since = 18

    def forward(self, xp, x):
        return ~x

    def pytorch(self, torch, x):
        return torch.bitwise_not(x)

    cases = (case(x=TensorSpec((3, 4), "int32")), case(x=TensorSpec((4,), "uint8")))
