import numpy as np

from ..contracts.dtypes import name_of
from ..contracts.operator import (
    Operator,
    TensorSpec,
    case,
)
from ..contracts.setting_ranges import Count, Pads, Sizes
from ._quantisation import centred, per_kernel, quantised
from ._sliding import AutoPad
from .conv import Conv


class QLinearConv(Operator):
    """The convolution of quantised values, quantised again; the bias is int32 in units of x_scale * w_scale."""

    since = 10
    auto_pad: AutoPad = "NOTSET"
    dilations: Sizes = None
    group: Count = 1
    kernel_shape: Sizes = None
    pads: Pads = None
    strides: Sizes = None

    def forward(
        self, xp, x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, b=None
    ):
        # float64 has room for every sum of such products, and every framework convolves it
        y = self._conv().forward(
            xp,
            centred(xp, x, x_zero_point, "float64"),
            centred(xp, w, per_kernel(xp, w_zero_point, w), "float64"),
            None if b is None else xp.astype(b, "float64"),
        )
        scale = xp.astype(x_scale * w_scale / y_scale, "float32")  # one, or one per channel
        scale = xp.reshape(scale, (-1, *[1] * (x.ndim - 2))) if scale.ndim == 1 else scale
        return quantised(
            xp, xp.astype(y, "float32") * scale, y_zero_point, name_of(y_zero_point.dtype)
        )

    def infer(
        self, x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, b=None
    ):
        return (TensorSpec(self._conv().infer(x, w)[0].shape, y_zero_point.dtype),)

    def flops(
        self, x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, b=None
    ):
        return self._conv().flops(x, w)

    def _conv(self):
        return Conv(**self.settings)

    cases = (
        case(
            {"pads": (1, 0, 1, 0)},
            x=TensorSpec((1, 2, 4, 3), "uint8"),
            x_scale=[0.11],
            x_zero_point=TensorSpec((1,), "uint8"),
            w=TensorSpec((3, 2, 2, 2), "int8"),
            w_scale=[0.2, 0.3, 0.05],
            w_zero_point=np.zeros(3, "int8"),
            y_scale=[0.3],
            y_zero_point=TensorSpec((1,), "uint8"),
            b=TensorSpec((3,), "int32"),
        ),
    )
