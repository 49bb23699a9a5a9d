from ..contracts.dtypes import name_of
from ..contracts.operator import Operator, TensorSpec, case
from ._dtypes import dtype_of
from ._quantisation import axes_with_scales, centred, gathered, spread


class DequantizeLinear(Operator):
    """(x - zero point) * x_scale: the floats that quantised values stand for."""

    since = 10
    axis_range = axes_with_scales
    axis: int = 1
    block_size: int = 0
    output_dtype: int = 0

    def forward(self, xp, x, x_scale, x_zero_point=None):
        scale = xp.astype(self._spread(xp, x_scale, x), self._wide(x_scale))
        return xp.astype(self._centred(xp, x, x_scale, x_zero_point) * scale, self._dtype(x_scale))

    def backward(self, xp, dy, x, x_scale, x_zero_point):
        dy = xp.astype(dy, self._wide(x_scale))
        scale = xp.astype(self._spread(xp, x_scale, x), self._wide(x_scale))
        by_element = dy * self._centred(xp, x, x_scale, x_zero_point)
        return xp.astype(dy * scale, x.dtype), xp.astype(
            gathered(xp, by_element, x_scale, self.axis, self.block_size), x_scale.dtype
        )

    def infer(self, x, x_scale, x_zero_point=None):
        return (TensorSpec(x.shape, self._dtype(x_scale)),)

    def flops(self, x, x_scale, x_zero_point=None):
        return 2 * x.size

    def _centred(self, xp, x, x_scale, x_zero_point):
        zero = None if x_zero_point is None else self._spread(xp, x_zero_point, x)
        return centred(xp, x, zero, self._wide(x_scale))

    def _spread(self, xp, value, x):
        return spread(xp, value, x.shape, self.axis, self.block_size)

    def _wide(self, x_scale):
        """The dtype of the product: narrow scales multiply in float32."""
        return "float64" if name_of(x_scale.dtype) == "float64" else "float32"

    def _dtype(self, x_scale):
        return dtype_of(self.output_dtype) if self.output_dtype else name_of(x_scale.dtype)

    cases = (
        case(x=TensorSpec((3, 4), "uint8"), x_scale=[0.1], x_zero_point=TensorSpec((1,), "uint8")),
        case(
            {"axis": 0},
            x=TensorSpec((3, 4), "int8"),
            x_scale=[0.5, 0.1, 0.2],
            x_zero_point=TensorSpec((3,), "int8"),
        ),
        case(
            {"axis": 1, "block_size": 2},
            x=TensorSpec((2, 5), "uint8"),
            x_scale=[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]],
        ),
    )
