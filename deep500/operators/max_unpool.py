import math

from ..contracts.operator import (
    Ints,
    Operator,
    TensorSpec,
    case,
)
from ..contracts.setting_ranges import Pads, Sizes, Window
from ..namespace import crop


class MaxUnpool(Operator):
    """Every element put back where MaxPool found it, zeros elsewhere; a larger output_shape ends in more zeros."""

    since = 9
    kernel_shape: Window
    pads: Pads = None
    strides: Sizes = None
    integers = ("indices",)

    def forward(self, xp, x, indices, output_shape: Ints = None):  # type: ignore[no-untyped-def]
        shape, places = self._shape(x), xp.reshape(indices, (-1,))
        flat = xp.zeros((math.prod(shape),), x.dtype)
        values = xp.reshape(x, (-1,))
        # overlapping windows write the same element several times
        times = xp.scatter_add(flat, places, xp.ones_like(values), 0)
        y = xp.reshape(xp.scatter_add(flat, places, values, 0) / xp.maximum(times, 1), shape)
        return xp.pad(y, self._rest(shape, output_shape))

    def backward(self, xp, dy, x, indices):
        shape, places = self._shape(x), xp.reshape(indices, (-1,))
        inner = xp.reshape(crop(dy, shape[2:], [(0, 0)] * (x.ndim - 2)), (-1,))
        ones = xp.full((math.prod(x.shape),), 1, dy.dtype)
        times = xp.scatter_add(xp.zeros((math.prod(shape),), dy.dtype), places, ones, 0)
        return xp.reshape(xp.take(inner / xp.maximum(times, 1), places, 0), x.shape)

    def pytorch(self, torch, x, indices, output_shape=None):
        n, shape, functional = len(self.kernel_shape), self._shape(x), torch.nn.functional
        unpool = getattr(functional, f"max_unpool{n}d")
        y = unpool(
            x,
            indices % math.prod(shape[2:]),
            list(self.kernel_shape),
            list(self.strides or (1,) * n),
            0,
            list(shape[2:]),
        )
        return functional.pad(
            y, [p for pair in reversed(self._rest(shape, output_shape)) for p in pair]
        )

    def infer(self, x, indices, output_shape=None):
        return (TensorSpec(tuple(output_shape or self._shape(x)), x.dtype),)

    def flops(self, x, indices, output_shape=None):
        return 0

    def _shape(self, x):
        """That of the array which was pooled, if its last windows ended with it."""
        n = len(self.kernel_shape)
        strides, pads = self.strides or (1,) * n, self.pads or (0,) * 2 * n
        return (
            *x.shape[:2],
            *(
                (m - 1) * s + k - lo - hi
                for m, s, k, lo, hi in zip(
                    x.shape[2:], strides, self.kernel_shape, pads[:n], pads[n:], strict=True
                )
            ),
        )

    def _rest(self, shape, output_shape):
        return [(0, n - m) for n, m in zip(output_shape or shape, shape, strict=True)]

    cases = (
        case(
            {"kernel_shape": (2, 2), "strides": (2, 2)},
            x=(1, 2, 2, 2),
            indices=[[[[5, 7], [13, 15]], [[16, 18], [24, 31]]]],
        ),
        case({"kernel_shape": (2,), "strides": (2,)}, x=(2, 1, 2), indices=[[[0, 3]], [[5, 6]]]),
    )
