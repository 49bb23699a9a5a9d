import math
from typing import Any

import numpy as np

from ..contracts.operator import (
    Operator,
    TensorSpec,
    case,
)
from ..contracts.setting_ranges import Pads, Sizes, Window
from ..graph.channels import channels_last, channels_second
from ..namespace import crop
from ._sliding import AutoPad, counts, windows


class AveragePool(Operator):
    """The mean of every window, over the elements inside the input, or with count_include_pad over the padding too."""

    kernel_shape: Window
    auto_pad: AutoPad = "NOTSET"
    ceil_mode: int = 0
    count_include_pad: int = 0
    dilations: Sizes = None
    pads: Pads = None
    strides: Sizes = None

    def forward(self, xp, x):
        n, where = len(self.kernel_shape), self._windows(x.shape)
        v = xp.windows(
            xp.pad(x, ((0, 0), (0, 0), *where.pads)),
            self.kernel_shape,
            where.strides,
            where.dilations,
        )
        return xp.sum(v, axis=tuple(range(-n, 0))) / xp.asarray(self._sizes(x.shape), x.dtype)

    def backward(self, xp, dy, x):
        n, where = len(self.kernel_shape), self._windows(x.shape)
        share = xp.expand_dims(dy / xp.asarray(self._sizes(x.shape), dy.dtype), range(-n, 0))
        parts = xp.broadcast_to(share, (*dy.shape, *self.kernel_shape))
        padded = [size + lo + hi for size, (lo, hi) in zip(x.shape[2:], where.pads, strict=True)]
        return crop(xp.fold(parts, padded, where.strides, where.dilations), x.shape[2:], where.pads)

    def native(self, framework):
        dilated = any(d != 1 for d in self.dilations or ())
        if framework == "pytorch" and (dilated or len(self.kernel_shape) > 3):
            return None
        if framework == "tensorflow" and (dilated or len(self.kernel_shape) != 2):
            return None
        return super().native(framework)

    def pytorch(self, torch, x):
        functional, kernel = torch.nn.functional, self.kernel_shape
        pool = getattr(functional, f"avg_pool{len(kernel)}d")
        strides, pads, _ = windows(self, x.shape[2:], kernel)
        if not self.ceil_mode and all(
            lo == hi and 2 * lo <= k for (lo, hi), k in zip(pads, kernel, strict=True)
        ):
            return pool(
                x, kernel, strides, [lo for lo, _ in pads], False, bool(self.count_include_pad)
            )
        # divided by our own counts, since PyTorch counts padding differently
        sizes = torch.tensor(self._sizes(x.shape), dtype=x.dtype, device=x.device)
        x = functional.pad(x, [p for pair in reversed(self._windows(x.shape).pads) for p in pair])
        return pool(x, kernel, strides) * (math.prod(kernel) / sizes)

    def tensorflow(self, tf, x):
        """Its kernel for the CPU wants the channels last, and no padding of ours counted."""
        where, kernel = self._windows(x.shape), self.kernel_shape
        x_last = channels_last(tf, x)
        if any(map(any, where.pads)):
            x_last = tf.pad(x_last, ((0, 0), *where.pads, (0, 0)))
        y = channels_second(tf, tf.nn.avg_pool2d(x_last, kernel, where.strides, "VALID"))
        sizes = np.array(self._sizes(x.shape), np.float64)
        if (sizes == math.prod(kernel)).all():
            return y
        return y * tf.constant(math.prod(kernel) / sizes, x.dtype)

    def infer(self, x):
        return (
            TensorSpec(
                (*x.shape[:2], *counts(x.shape[2:], self.kernel_shape, self._windows(x.shape))),
                x.dtype,
            ),
        )

    def flops(self, x):
        return self.infer(x)[0].size * math.prod(self.kernel_shape)

    def _windows(self, shape):
        return windows(self, shape[2:], self.kernel_shape, self.ceil_mode)

    def _sizes(self, shape):
        """How many elements each window counts, nested as the output's spatial axes are."""
        where, asked = self._windows(shape), windows(self, shape[2:], self.kernel_shape)
        made = counts(shape[2:], self.kernel_shape, where)
        sizes: Any = 1.0
        for axis in reversed(range(len(made))):
            n, (lo, hi), (before, _) = shape[2 + axis], asked.pads[axis], where.pads[axis]
            first, last = (-lo, n + hi) if self.count_include_pad else (0, n)
            starts = [i * where.strides[axis] - before for i in range(made[axis])]
            inside = [
                sum(
                    first <= start + k * where.dilations[axis] < last
                    for k in range(self.kernel_shape[axis])
                )
                for start in starts
            ]
            sizes = [_times(sizes, m) for m in inside]
        return sizes

    cases = (
        case({"kernel_shape": (2, 2), "strides": (2, 2)}, x=(2, 2, 4, 4)),
        case(
            {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1), "count_include_pad": 1}, x=(1, 2, 4, 3)
        ),
        case(
            {"kernel_shape": (3, 2), "pads": (1, 0, 0, 1), "strides": (2, 1), "ceil_mode": 1},
            x=(1, 1, 6, 4),
        ),
        case({"kernel_shape": (3,), "auto_pad": "SAME_UPPER", "strides": (2,)}, x=(1, 2, 6)),
        case({"kernel_shape": (2, 2), "dilations": (2, 1), "pads": (1, 0, 1, 0)}, x=(1, 1, 4, 3)),
    )


def _times(nested, factor):
    return (
        [_times(part, factor) for part in nested] if isinstance(nested, list) else nested * factor
    )
