from ..contracts.operator import Operator, TensorSpec, case
from ._quantisation import nearest, quantised


class DynamicQuantizeLinear(Operator):
    """x as uint8, with the scale and the zero point at which its own range, 0 included, fills 0 … 255."""

    since = 11
    outputs = ("y", "y_scale", "y_zero_point")

    def forward(self, xp, x):
        low, high = xp.minimum(xp.min(x), 0), xp.maximum(xp.max(x), 0)
        scale = xp.where(high == low, 1, high - low) / 255
        zero = xp.clip(nearest(xp, -low / scale), 0, 255)
        return (
            quantised(xp, xp.astype(x / scale, "float32"), zero, "uint8"),
            scale,
            xp.astype(zero, "uint8"),
        )

    def infer(self, x):
        return TensorSpec(x.shape, "uint8"), TensorSpec((), x.dtype), TensorSpec((), "uint8")

    def flops(self, x):
        return 5 * x.size

    cases = (case(x=(3, 4)), case(x=[0.5, 2.0, 3.1]), case(x=[0.0, 0.0]))
