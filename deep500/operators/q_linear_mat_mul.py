from ..contracts.dtypes import name_of
from ..contracts.operator import Operator, TensorSpec, case
from ._quantisation import centred, per_row, quantised
from .mat_mul import MatMul


class QLinearMatMul(Operator):
    """The matrix product of quantised values, quantised again."""

    since = 10

    def forward(
        self, xp, a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point
    ):
        product = MatMul().forward(
            xp, centred(xp, a, per_row(xp, a_zero_point, a)), centred(xp, b, b_zero_point)
        )
        scale = xp.astype(per_row(xp, a_scale, a), "float32") * xp.astype(b_scale, "float32")
        scale = scale / xp.astype(y_scale, "float32")
        return quantised(
            xp, xp.astype(product, "float32") * scale, y_zero_point, name_of(y_zero_point.dtype)
        )

    def infer(self, a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point):
        return (TensorSpec(MatMul().infer(a, b)[0].shape, y_zero_point.dtype),)

    def flops(self, a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point):
        return MatMul().flops(a, b)

    cases = (
        case(
            a=TensorSpec((3, 4), "uint8"),
            a_scale=[0.1],
            a_zero_point=TensorSpec((1,), "uint8"),
            b=TensorSpec((4, 2), "int8"),
            b_scale=[0.3, 0.2],
            b_zero_point=TensorSpec((2,), "int8"),
            y_scale=[0.17],
            y_zero_point=TensorSpec((1,), "uint8"),
        ),
        case(
            a=TensorSpec((2, 3, 4), "int8"),
            a_scale=[0.1],
            a_zero_point=TensorSpec((1,), "int8"),
            b=TensorSpec((2, 4, 2), "int8"),
            b_scale=[0.3],
            b_zero_point=TensorSpec((1,), "int8"),
            y_scale=[0.01],
            y_zero_point=TensorSpec((1,), "int8"),
        ),
    )
