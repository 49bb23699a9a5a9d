import math

from ..contracts.operator import (
    Operator,
    TensorSpec,
    case,
)
from ..contracts.setting_ranges import Count, Pads, Sizes
from ..namespace import offsets
from ._sampling import (
    coordinate_gradients,
    corners,
    linear_taps,
    read,
    read_adjoint,
)


class DeformConv(Operator):
    """A convolution whose windows read x wherever `offset` moves each of their elements, weighed by a mask.

    The channels of x are in `offset_group` groups, each with its own offsets: (batch, group · elements · axes, …).
    """

    since = 19
    dilations: Sizes = None
    group: Count = 1
    kernel_shape: Sizes = None
    offset_group: Count = 1
    pads: Pads = None
    strides: Sizes = None

    def forward(self, xp, x, w, offset, b=None, mask=None):
        grouped = self._grouped(xp, x)
        v = read(xp, grouped, self._corners(xp, grouped, w, offset))
        v = v if mask is None else v * self._mask(xp, mask, v)
        y = xp.matmul(self._kernels(xp, w), self._columns(xp, v, x, w))
        y = xp.reshape(y, (x.shape[0], w.shape[0], *offset.shape[2:]))
        return y if b is None else y + xp.reshape(b, (1, -1, *[1] * (x.ndim - 2)))

    def backward(self, xp, dy, x, w, offset, mask):
        grouped, kernels = self._grouped(xp, x), self._kernels(xp, w)
        at = self._corners(xp, grouped, w, offset)
        read_values = read(xp, grouped, at)
        factor = xp.ones_like(read_values) if mask is None else self._mask(xp, mask, read_values)
        rows = xp.reshape(
            dy, (x.shape[0], self.group, w.shape[0] // self.group, math.prod(dy.shape[2:]))
        )
        columns = self._columns(xp, read_values * factor, x, w)
        dw = xp.sum(xp.matmul(rows, xp.permute_dims(columns, (0, 1, 3, 2))), axis=0)
        dv = xp.reshape(xp.matmul(xp.permute_dims(kernels, (0, 2, 1)), rows), read_values.shape)
        by_axis = coordinate_gradients(xp, dv * factor, grouped, at)
        doffset = xp.stack(
            [xp.reshape(g, (*g.shape[:1], math.prod(w.shape[2:]), -1)) for g in by_axis], axis=2
        )
        dmask = None if mask is None else xp.reshape(xp.sum(dv * read_values, axis=1), mask.shape)
        return (
            xp.reshape(read_adjoint(xp, dv * factor, grouped, at), x.shape),
            xp.reshape(dw, w.shape),
            xp.reshape(doffset, offset.shape),
            xp.sum(dy, axis=(0, *range(2, dy.ndim))),
            dmask,
        )

    def infer(self, x, w, offset, b=None, mask=None):
        return (TensorSpec((x.shape[0], w.shape[0], *offset.shape[2:]), x.dtype),)

    def flops(self, x, w, offset, b=None, mask=None):
        """The products of the convolution, and for every element that is read its neighbours."""
        made = self.infer(x, w, offset)[0].size
        reads = x.shape[0] * x.shape[1] * math.prod(w.shape[2:]) * math.prod(offset.shape[2:])
        return made * (2 * math.prod(w.shape[1:]) + (b is not None)) + reads * (
            2 ** (len(x.shape) - 1)
        )

    def _grouped(self, xp, x):
        return xp.reshape(
            x, (x.shape[0] * self.offset_group, x.shape[1] // self.offset_group, *x.shape[2:])
        )

    def _corners(self, xp, grouped, w, offset):
        """The neighbours of every element of every window; the elements vary slowest."""
        n, kernel, counts = w.ndim - 2, w.shape[2:], offset.shape[2:]
        moved = xp.reshape(offset, (grouped.shape[0], math.prod(kernel), n, *counts))
        strides, dilations, pads = (
            self.strides or (1,) * n,
            self.dilations or (1,) * n,
            self.pads or (0,) * n,
        )
        taps = []
        for k, size in enumerate(grouped.shape[2:]):
            starts = xp.reshape(
                xp.arange(counts[k], offset.dtype) * strides[k] - pads[k], (-1, *[1] * (n - 1 - k))
            )
            inner = [float(at[k] * dilations[k]) for at in offsets(kernel)]
            at = (
                moved[:, :, k]
                + starts
                + xp.reshape(xp.asarray(inner, offset.dtype), (-1, *[1] * n))
            )
            taps.append(
                linear_taps(xp, xp.reshape(at, (grouped.shape[0], math.prod(at.shape[1:]))), size)
            )
        return corners(xp, taps, grouped.shape[2:])

    def _mask(self, xp, mask, v):
        return xp.reshape(mask, (v.shape[0], 1, v.shape[2]))

    def _kernels(self, xp, w):
        return xp.reshape(w, (self.group, w.shape[0] // self.group, math.prod(w.shape[1:])))

    def _columns(self, xp, v, x, w):
        return xp.reshape(v, (x.shape[0], self.group, math.prod(w.shape[1:]), -1))

    cases = (
        case(
            {"pads": (1, 1, 1, 1), "strides": (2, 1)},
            x=(1, 2, 4, 3),
            w=(2, 2, 2, 2),
            offset=(1, 8, 3, 4),
            b=(2,),
            mask=(1, 4, 3, 4),
        ),
        case(
            {"group": 2, "offset_group": 2, "dilations": (1, 2)},
            x=(2, 4, 3, 4),
            w=(2, 2, 2, 2),
            offset=(2, 16, 2, 2),
        ),
    )
