from ..contracts.operator import Operator, TensorSpec, case
from ._quantisation import centred, per_row
from .mat_mul import MatMul


class MatMulInteger(Operator):
    """The matrix product of 8-bit integers without their zero points, in int32."""

    since = 10

    def forward(self, xp, a, b, a_zero_point=None, b_zero_point=None):
        return MatMul().forward(
            xp, centred(xp, a, per_row(xp, a_zero_point, a)), centred(xp, b, b_zero_point)
        )

    def infer(self, a, b, a_zero_point=None, b_zero_point=None):
        return (TensorSpec(MatMul().infer(a, b)[0].shape, "int32"),)

    def flops(self, a, b, a_zero_point=None, b_zero_point=None):
        return MatMul().flops(a, b)

    cases = (
        case(a=TensorSpec((3, 4), "uint8"), b=TensorSpec((4, 2), "uint8")),
        case(
            a=TensorSpec((2, 3, 4), "uint8"),
            b=TensorSpec((4, 5), "int8"),
            a_zero_point=TensorSpec((), "uint8"),
            b_zero_point=TensorSpec((5,), "int8"),
        ),
    )
