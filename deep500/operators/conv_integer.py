from ..contracts.operator import (
    Operator,
    TensorSpec,
    case,
)
from ..contracts.setting_ranges import Count, Pads, Sizes
from ._quantisation import centred, per_kernel
from ._sliding import AutoPad
from .conv import Conv


class ConvInteger(Operator):
    """The convolution of 8-bit integers without their zero points, in int32; padding is the zero point."""

    since = 10
    auto_pad: AutoPad = "NOTSET"
    dilations: Sizes = None
    group: Count = 1
    kernel_shape: Sizes = None
    pads: Pads = None
    strides: Sizes = None

    def forward(self, xp, x, w, x_zero_point=None, w_zero_point=None):
        # float64 has room for every sum of such products, and every framework convolves it
        y = self._conv().forward(
            xp,
            centred(xp, x, x_zero_point, "float64"),
            centred(xp, w, per_kernel(xp, w_zero_point, w), "float64"),
        )
        return xp.astype(y, "int32")

    def infer(self, x, w, x_zero_point=None, w_zero_point=None):
        return (TensorSpec(self._conv().infer(x, w)[0].shape, "int32"),)

    def flops(self, x, w, x_zero_point=None, w_zero_point=None):
        return self._conv().flops(x, w)

    def _conv(self):
        return Conv(**self.settings)

    cases = (
        case(
            {"pads": (1, 1, 1, 1)},
            x=TensorSpec((1, 2, 4, 3), "uint8"),
            w=TensorSpec((2, 2, 2, 2), "uint8"),
            x_zero_point=TensorSpec((), "uint8"),
        ),
        case({"strides": (2,)}, x=TensorSpec((2, 2, 6), "uint8"), w=TensorSpec((3, 2, 3), "uint8")),
    )
