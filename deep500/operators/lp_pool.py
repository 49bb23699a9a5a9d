import math

from ..contracts.operator import (
    Operator,
    TensorSpec,
    case,
)
from ..contracts.setting_ranges import Pads, Sizes, Window
from ..namespace import crop
from ._norms import norm, norm_gradient
from ._sliding import AutoPad, counts, windows


class LpPool(Operator):
    """The p-norm of every window."""

    since = 2
    kernel_shape: Window
    auto_pad: AutoPad = "NOTSET"
    ceil_mode: int = 0
    dilations: Sizes = None
    p: int = 2
    pads: Pads = None
    strides: Sizes = None

    def forward(self, xp, x):
        n = len(self.kernel_shape)
        return xp.squeeze(norm(xp, self._cut(xp, x), self.p, tuple(range(-n, 0))), range(-n, 0))

    def backward(self, xp, dy, x, y):
        n, where = len(self.kernel_shape), self._windows(x)
        dy, y = (xp.expand_dims(v, range(-n, 0)) for v in (dy, y))
        parts = norm_gradient(xp, dy, self._cut(xp, x), y, self.p)
        padded = [size + lo + hi for size, (lo, hi) in zip(x.shape[2:], where.pads, strict=True)]
        return crop(xp.fold(parts, padded, where.strides, where.dilations), x.shape[2:], where.pads)

    def infer(self, x):
        return (
            TensorSpec(
                (*x.shape[:2], *counts(x.shape[2:], self.kernel_shape, self._windows(x))), x.dtype
            ),
        )

    def flops(self, x):
        return 2 * self.infer(x)[0].size * math.prod(self.kernel_shape)

    def _cut(self, xp, x):
        where = self._windows(x)
        return xp.windows(
            xp.pad(x, ((0, 0), (0, 0), *where.pads)),
            self.kernel_shape,
            where.strides,
            where.dilations,
        )

    def _windows(self, x):
        return windows(self, x.shape[2:], self.kernel_shape, self.ceil_mode)

    cases = (
        case({"kernel_shape": (2, 2), "strides": (2, 2)}, x=(1, 2, 4, 4)),
        case({"kernel_shape": (3,), "p": 3, "pads": (1, 1)}, x=(1, 2, 5)),
        case({"kernel_shape": (2, 3), "dilations": (2, 1), "p": 1}, x=(1, 1, 4, 4)),
        case({"kernel_shape": (3, 3), "auto_pad": "SAME_UPPER", "strides": (2, 2)}, x=(1, 1, 5, 4)),
    )
