import math
from typing import NamedTuple

from ..contracts.operator import (
    Ints,
    Operator,
    TensorSpec,
    case,
)
from ..contracts.setting_ranges import Count, Pads, Sizes
from ._sliding import AutoPad


class ConvTranspose(Operator):
    """The transposed convolution: every element of x adds its multiple of a kernel to the output, `strides` apart.

    Of what the kernels cover, the padding is left out; an output that reaches beyond it ends in zeros.
    """

    auto_pad: AutoPad = "NOTSET"
    dilations: Sizes = None
    group: Count = 1
    kernel_shape: Sizes = None
    output_padding: Ints = None
    output_shape: Ints = None
    pads: Pads = None
    strides: Sizes = None

    def forward(self, xp, x, w, b=None):
        at = self._placed(x, w)
        y = xp.conv_transpose(x, w, at.reached, at.strides, at.pads, at.dilations, self.group)
        y = xp.pad(
            y, [(0, 0), (0, 0), *((0, n - m) for n, m in zip(at.shape, at.reached, strict=True))]
        )
        return y if b is None else y + xp.reshape(b, (1, -1, *[1] * (x.ndim - 2)))

    def backward(self, xp, dy, x, w):
        at = self._placed(x, w)
        seen = dy[(..., *(slice(0, m) for m in at.reached))]
        dx = xp.conv(seen, w, at.strides, at.pads, at.dilations, self.group)
        dw = xp.conv_weight(seen, x, w.shape[2:], at.strides, at.pads, at.dilations, self.group)
        return dx, dw, xp.sum(dy, axis=(0, *range(2, dy.ndim)))

    def pytorch(self, torch, x, w, b=None):
        at = self._placed(x, w)
        extra = [lo - hi for lo, hi in at.cut]
        even = all(
            0 <= e < max(s, d) for e, s, d in zip(extra, at.strides, at.dilations, strict=True)
        )
        if even:  # which is all that PyTorch cuts by itself
            return torch.convolution(
                x, w, b, at.strides, [lo for lo, _ in at.cut], at.dilations, True, extra, self.group
            )
        y = torch.convolution(
            x,
            w,
            None,
            at.strides,
            [0] * len(extra),
            at.dilations,
            True,
            [0] * len(extra),
            self.group,
        )
        y = torch.nn.functional.pad(y, [-n for pair in reversed(at.cut) for n in pair])
        return y if b is None else y + b.reshape(-1, *[1] * (x.ndim - 2))

    def jax(self, jax, x, w, b=None):
        at, g, spatial = self._placed(x, w), self.group, tuple(range(2, w.ndim))
        kernels = w.reshape(g, w.shape[0] // g, *w.shape[1:]).swapaxes(1, 2)
        kernels = jax.numpy.flip(
            kernels.reshape(g * w.shape[1], w.shape[0] // g, *w.shape[2:]), spatial
        )
        reach = [d * (k - 1) for d, k in zip(at.dilations, w.shape[2:], strict=True)]
        pads = [(r - lo, r - hi) for r, (lo, hi) in zip(reach, at.cut, strict=True)]
        y = jax.lax.conv_general_dilated(
            x, kernels, [1] * len(pads), pads, at.strides, at.dilations, feature_group_count=g
        )
        return y if b is None else y + b.reshape(-1, *[1] * (x.ndim - 2))

    def infer(self, x, w, b=None):
        if len(x.shape) != len(w.shape) or x.shape[1] != w.shape[0]:
            raise ValueError(
                f"an input of shape {x.shape} does not go with a weight of shape {w.shape}"
            )
        return (
            TensorSpec((x.shape[0], w.shape[1] * self.group, *self._placed(x, w).shape), x.dtype),
        )

    def flops(self, x, w, b=None):
        return 2 * x.size * math.prod(w.shape[1:]) + (b is not None) * self.infer(x, w)[0].size

    def _placed(self, x, w):
        n = len(w.shape) - 2
        strides, dilations = self.strides or (1,) * n, self.dilations or (1,) * n
        extra, flat = self.output_padding or (0,) * n, self.pads or (0,) * 2 * n
        full = [
            (m - 1) * s + d * (k - 1) + 1
            for m, s, d, k in zip(x.shape[2:], strides, dilations, w.shape[2:], strict=True)
        ]
        wanted = self.output_shape
        if wanted is None and self.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            wanted = tuple(m * s for m, s in zip(x.shape[2:], strides, strict=True))
        if wanted is None:
            pads = (
                [(0, 0)] * n
                if self.auto_pad == "VALID"
                else list(zip(flat[:n], flat[n:], strict=True))
            )
        else:
            pads = [
                self._halves(max(0, f + e - size))
                for f, e, size in zip(full, extra, wanted, strict=True)
            ]
        shape = self.output_shape or tuple(
            f + e - lo - hi for f, e, (lo, hi) in zip(full, extra, pads, strict=True)
        )
        return _Placed(
            strides,
            dilations,
            tuple(shape),
            tuple((lo, f - lo - size) for (lo, _), f, size in zip(pads, full, shape, strict=True)),
        )

    def _halves(self, total):
        """Padding for both ends; an odd rest goes to the end, or to the beginning."""
        less = total // 2
        return (total - less, less) if self.auto_pad == "SAME_LOWER" else (less, total - less)

    cases = (
        case(
            {"strides": (2, 2), "pads": (1, 1, 1, 1), "output_padding": (1, 0)},
            x=(2, 3, 3, 4),
            w=(3, 2, 3, 3),
            b=(2,),
        ),
        case(
            {"group": 2, "dilations": (2, 1), "pads": (1, 0, 2, 1)},
            x=(1, 4, 3, 4),
            w=(4, 3, 2, 3),
            b=(6,),
        ),
        case({"strides": (3, 2), "output_shape": (10, 8)}, x=(1, 1, 3, 3), w=(1, 2, 3, 3), b=(2,)),
        case({"strides": (2,), "auto_pad": "SAME_UPPER"}, x=(1, 2, 4), w=(2, 1, 3)),
        case({"strides": (1, 2), "auto_pad": "SAME_LOWER"}, x=(1, 2, 3, 4), w=(2, 1, 3, 5)),
        case(
            {"strides": (1, 2, 1), "pads": (0, 1, 0, 1, 0, 0)}, x=(1, 2, 3, 2, 3), w=(2, 2, 2, 2, 2)
        ),
    )


class _Placed(NamedTuple):
    """Where the output lies in what the kernels cover."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    shape: tuple[int, ...]
    # how much is cut off at both ends of every axis; negative: zeros are added
    cut: tuple[tuple[int, int], ...]

    @property
    def pads(self) -> tuple[tuple[int, int], ...]:
        return tuple((lo, max(0, hi)) for lo, hi in self.cut)

    @property
    def reached(self) -> tuple[int, ...]:
        """The part of the shape that kernels cover."""
        return tuple(n + min(0, hi) for n, (_, hi) in zip(self.shape, self.cut, strict=True))
