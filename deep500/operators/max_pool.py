import itertools
import math

from ..contracts.dtypes import limits, name_of
from ..contracts.operator import (
    Operator,
    TensorSpec,
    case,
)
from ..contracts.setting_ranges import Pads, Sizes, Window
from ..namespace import kind
from ._sliding import AutoPad, counts, windows


class MaxPool(Operator):
    """The largest element of every window, and its place in the flattened input."""

    kernel_shape: Window
    auto_pad: AutoPad = "NOTSET"
    ceil_mode: int = 0
    dilations: Sizes = None
    pads: Pads = None
    storage_order: int = 0
    strides: Sizes = None
    outputs = ("y", "indices")

    def forward(self, xp, x):
        n = len(self.kernel_shape)
        where = self._windows(x)
        v = xp.windows(
            xp.pad(x, ((0, 0), (0, 0), *where.pads), _lowest(x)),
            self.kernel_shape,
            where.strides,
            where.dilations,
        )
        v = xp.reshape(v, (*v.shape[:-n], math.prod(self.kernel_shape)))
        slot = xp.argmax(v, axis=-1, keepdims=True)
        y = xp.squeeze(xp.take_along_axis(v, slot, -1), -1)
        return y, self._indices(xp, x, where, xp.squeeze(slot, -1))

    def backward(self, xp, dy, x, indices):
        dx = xp.zeros((math.prod(x.shape),), dy.dtype)
        dx = xp.scatter_add(dx, xp.reshape(indices, (-1,)), xp.reshape(dy, (-1,)), 0)
        if not self.storage_order:
            return xp.reshape(dx, x.shape)
        turned = (0, 1, *reversed(range(2, x.ndim)))
        return xp.permute_dims(xp.reshape(dx, tuple(x.shape[axis] for axis in turned)), turned)

    def pytorch(self, torch, x):
        functional, shape, kernel = torch.nn.functional, x.shape[2:], self.kernel_shape
        strides, pads, dilations = windows(self, shape, kernel)
        ceil = bool(self.ceil_mode) and self.auto_pad == "NOTSET"
        even = all(lo == hi and 2 * lo <= k for (lo, hi), k in zip(pads, kernel, strict=True))
        if not even:  # which is all that PyTorch pads by itself
            pads, ceil = self._windows(x).pads, False
            x = functional.pad(x, [p for pair in reversed(pads) for p in pair], value=_lowest(x))
        pool = getattr(functional, f"max_pool{len(kernel)}d")
        y, place = pool(
            x,
            kernel,
            strides,
            [lo if even else 0 for lo, _ in pads],
            dilations,
            ceil,
            return_indices=True,
        )
        if not even or self.storage_order:
            place = sum(
                (at - (0 if even else lo)) * step
                for at, (lo, _), step in zip(
                    torch.unravel_index(place, x.shape[2:]), pads, self._steps(shape), strict=True
                )
            )
        planes = torch.arange(y.shape[0] * y.shape[1], device=y.device) * math.prod(shape)
        return y, place + planes.reshape(*y.shape[:2], *[1] * len(kernel))

    def infer(self, x):
        y = TensorSpec(
            (*x.shape[:2], *counts(x.shape[2:], self.kernel_shape, self._windows(x))), x.dtype
        )
        return y, TensorSpec(y.shape, "int64")

    def flops(self, x):
        return self.infer(x)[0].size * math.prod(self.kernel_shape)

    def _windows(self, x):
        return windows(self, x.shape[2:], self.kernel_shape, self.ceil_mode)

    def _steps(self, shape):
        """How far apart neighbours along each axis are in the flattened input; storage_order 1 is by columns."""
        return [
            math.prod(shape[:axis] if self.storage_order else shape[axis + 1 :])
            for axis in range(len(shape))
        ]

    def _indices(self, xp, x, where, slot):
        """The places in the flattened input, from the slots of the kernel that won."""
        n, shape, steps = len(self.kernel_shape), x.shape[2:], self._steps(x.shape[2:])
        inside = [
            sum(i * d * step for i, d, step in zip(at, where.dilations, steps, strict=True))
            for at in itertools.product(*map(range, self.kernel_shape))
        ]
        index = xp.take(xp.asarray(inside, slot.dtype), slot, 0)
        for axis, (stride, (lo, _), step) in enumerate(
            zip(where.strides, where.pads, steps, strict=True)
        ):
            start = (xp.arange(slot.shape[2 + axis], slot.dtype) * stride - lo) * step
            index = index + xp.reshape(start, (-1, *[1] * (n - 1 - axis)))
        planes = xp.arange(x.shape[0] * x.shape[1], slot.dtype) * math.prod(shape)
        return index + xp.reshape(planes, (*x.shape[:2], *[1] * n))

    cases = (
        case({"kernel_shape": (2, 2), "strides": (2, 2)}, x=(2, 3, 6, 4)),
        case({"kernel_shape": (3, 3), "pads": (1, 1, 1, 1)}, x=(1, 2, 5, 4)),
        case(
            {"kernel_shape": (3, 2), "strides": (2, 2), "ceil_mode": 1, "pads": (1, 0, 0, 1)},
            x=(2, 3, 8, 7),
        ),
        case({"kernel_shape": (2, 2), "strides": (2, 2), "ceil_mode": 1}, x=(1, 2, 5, 7)),
        case({"kernel_shape": (2, 3), "dilations": (2, 1), "storage_order": 1}, x=(2, 2, 5, 6)),
        case({"kernel_shape": (3, 3), "auto_pad": "SAME_UPPER", "strides": (2, 2)}, x=(1, 2, 6, 7)),
        case({"kernel_shape": (2, 2), "auto_pad": "SAME_LOWER"}, x=(1, 1, 4, 5)),
        case({"kernel_shape": (3,), "strides": (2,)}, x=(2, 3, 8)),
        case({"kernel_shape": (2, 2, 2), "auto_pad": "VALID"}, x=(1, 2, 3, 4, 3)),
        case({"kernel_shape": (4, 4)}, x=(1, 1, 4, 4)),
    )


def _lowest(x):
    """What never wins against an element of x."""
    return -math.inf if kind(x) == "float" else limits(name_of(x.dtype))[0]
