from ..contracts.dtypes import name_of
from ..contracts.operator import Operator, TensorSpec, case
from ._dtypes import converted, dtype_of
from ._quantisation import axes_with_scales, quantised, spread


class QuantizeLinear(Operator):
    """x / y_scale, rounded and moved by the zero point, in a narrow dtype; per tensor, per axis or per block."""

    since = 10
    rounds = False  # the dtype of the scale is that of the division
    axis_range = axes_with_scales
    axis: int = 1
    block_size: int = 0
    output_dtype: int = 0
    precision: int = 0
    saturate: int = 1

    def forward(self, xp, x, y_scale, y_zero_point=None):
        dtype = self._dtype(y_zero_point)
        wide = dtype_of(self.precision) if self.precision else name_of(y_scale.dtype)
        wide = name_of(x.dtype) if wide == "float8_e8m0fnu" else wide  # which cannot divide
        scale = xp.astype(spread(xp, y_scale, x.shape, self.axis, self.block_size), wide)
        zero = (
            None
            if y_zero_point is None
            else spread(xp, y_zero_point, x.shape, self.axis, self.block_size)
        )
        ratio = xp.astype(xp.astype(x, wide) / scale, "float32")
        return (
            quantised(xp, ratio, zero, dtype)
            if "int" in dtype
            else converted(xp, ratio, dtype, self.saturate)
        )

    def infer(self, x, y_scale, y_zero_point=None):
        return (TensorSpec(x.shape, self._dtype(y_zero_point)),)

    def flops(self, x, y_scale, y_zero_point=None):
        return 3 * x.size

    def _dtype(self, zero):
        return name_of(zero.dtype) if zero is not None else dtype_of(self.output_dtype or 2)

    cases = (
        case(x=(3, 4), y_scale=[0.1], y_zero_point=TensorSpec((1,), "uint8")),
        case(
            {"axis": 0}, x=(3, 4), y_scale=[0.05, 0.1, 0.2], y_zero_point=TensorSpec((3,), "int8")
        ),
        case({"axis": 1, "block_size": 2}, x=(2, 5), y_scale=[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]),
    )
