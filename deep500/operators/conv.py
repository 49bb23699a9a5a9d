import math
from functools import cache
from pathlib import Path

from ..contracts.dtypes import name_of
from ..contracts.operator import (
    Operator,
    TensorSpec,
    case,
)
from ..contracts.setting_ranges import Count, Pads, Sizes
from ..errors import Deep500Error
from ..graph.channels import channels_last, channels_second
from ._sliding import AutoPad, counts, windows


class Conv(Operator):
    """Cross-correlation of x with the kernels w over all spatial axes, plus a bias per output channel.

    `algorithm`, such as "winograd4", computes float32 by one of `d5.convolutions` in every framework; None leaves it to
    the framework.
    """

    unwritten = ("algorithm",)
    auto_pad: AutoPad = "NOTSET"
    dilations: Sizes = None
    group: Count = 1
    kernel_shape: Sizes = None
    pads: Pads = None
    strides: Sizes = None
    algorithm: str | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.algorithm is not None:
            self._own()  # raises an error for an unknown one

    @property
    def on_host(self):
        return self.algorithm is not None

    def forward(self, xp, x, w, b=None):
        if self._is_own(x):
            y = self._run(xp, "forward", x, w, (x, w), self._shape(x, w))
        else:
            y = xp.conv(x, w, *self._windows(x, w), self.group)
        return y if b is None else y + xp.reshape(b, (1, -1, *[1] * (x.ndim - 2)))

    def backward(self, xp, dy, x, w):
        db = xp.sum(dy, axis=(0, *range(2, dy.ndim)))
        if self._is_own(x):
            dx = self._run(xp, "data", dy, w, (x, w), x.shape)
            dw = self._run(xp, "filter", x, dy, (x, w), w.shape)
            return dx, dw, db
        where = self._windows(x, w)
        dx = xp.conv_transpose(dy, w, x.shape[2:], *where, self.group)
        dw = xp.conv_weight(x, dy, w.shape[2:], *where, self.group)
        return dx, dw, db

    def _own(self):
        from ._convolving import algorithm_named

        return algorithm_named(self.algorithm)

    def _is_own(self, x):
        """Whether one of our algorithms computes it: they are for float32."""
        return self.algorithm is not None and name_of(x.dtype) == "float32"

    def _shape(self, x, w):
        spatial = counts(x.shape[2:], w.shape[2:], self._windows(x, w))
        return (x.shape[0], w.shape[0], *spatial)

    def _problem(self, x, w):
        from ._convolving import problem_of

        return problem_of(x, w, self._windows(x, w), self.group)

    def _refuse(self, x, w):
        """Raise ValueError if the algorithm cannot compute a convolution of such tensors."""
        try:
            reason = self._own().refusal(self._problem(x, w), "forward")
        except Deep500Error as error:
            raise ValueError(str(error)) from None
        if reason:
            raise ValueError(f"{self.algorithm} cannot compute this convolution: {reason}")

    def _run(self, xp, direction, a, b, factors, shape):
        from ._convolving import run_on_host

        return run_on_host(xp, self._own(), self._problem(*factors), direction, a, b, shape)

    def pytorch(self, torch, x, w, b=None):
        strides, pads, dilations = self._windows(x, w)
        if any(lo != hi for lo, hi in pads):
            x = torch.nn.functional.pad(x, [p for pair in reversed(pads) for p in pair])
            pads = ((0, 0),) * len(pads)
        even = [lo for lo, _ in pads]
        return torch.convolution(
            x, w, b, strides, even, dilations, False, [0] * len(even), self.group
        )

    def jax(self, jax, x, w, b=None):
        strides, pads, dilations = self._windows(x, w)
        y = jax.lax.conv_general_dilated(
            x, w, strides, pads, None, dilations, feature_group_count=self.group
        )
        return y if b is None else y + b.reshape(-1, *[1] * (x.ndim - 2))

    def native(self, framework):
        """TensorFlow's kernel for the CPU has a derivative over two axes, without groups and dilations."""
        if self.algorithm is not None:
            return None
        plain = self.group == 1 and all(d == 1 for d in self.dilations or ())
        planar = len(self.kernel_shape or ()) == 2
        if framework == "tensorflow" and not (plain and planar):
            return None
        return super().native(framework)

    def tensorflow(self, tf, x, w, b=None):
        strides, pads, _ = self._windows(x, w)
        x_last, padding = channels_last(tf, x), "VALID"
        around = tuple(((k - 1) // 2, k // 2) for k in w.shape[2:])
        if set(strides) == {1} and tuple(pads) == around:
            padding = "SAME"  # its kernel pads as it goes, without a copy
        elif any(map(any, pads)):
            x_last = tf.pad(x_last, ((0, 0), *pads, (0, 0)))
        y = tf.nn.conv2d(x_last, tf.transpose(w, (2, 3, 1, 0)), strides, padding)
        return channels_second(tf, y if b is None else tf.nn.bias_add(y, b))

    def infer(self, x, w, b=None):
        if len(x.shape) != len(w.shape) or x.shape[1] != w.shape[1] * self.group:
            raise ValueError(
                f"an input of shape {x.shape} does not go with a weight of shape {w.shape}"
            )
        y = TensorSpec(self._shape(x, w), x.dtype)
        if self._is_own(x):
            self._refuse(x, w)
        return (y,)

    def flops(self, x, w, b=None):
        return self.infer(x, w)[0].size * (2 * math.prod(w.shape[1:]) + (b is not None))

    def backward_flops(self, x, w, b=None):
        return 2 * self.flops(x, w)  # one product for each factor's gradient

    def workspace(self, framework, direction, x, w, b=None):
        """PyTorch's oneDNN computes on copies of x and y with the channels in blocks of 8, or 16 with AVX-512."""
        if self._is_own(x):
            return self._own_workspace(direction, x, w)
        if framework != "pytorch":
            return 0
        (y,) = self.infer(x, w)
        blocked_x, blocked_y = _blocked(x), _blocked(y)
        copies_x = x.shape[1] >= _block()
        if direction == "backward":  # AVX-512 reads few channels as they are
            return blocked_y + (blocked_x if copies_x or _block() == 8 else 0)
        return max(blocked_y, blocked_x + blocked_y - y.nbytes if copies_x else 0)

    def _own_workspace(self, direction, x, w):
        """The most that one of its runs uses; another run reuses the memory."""
        problem = self._problem(x, w)
        runs = ("forward",) if direction == "forward" else ("data", "filter")
        return max(self._own().workspace(problem, run) for run in runs)

    def own_bounds(self, x, w, b=None):
        if not self._is_own(x):
            return None
        return [self._own_bound("forward", x, w, (x, w), self._shape(x, w))]

    def own_gradient_bounds(self, grads, x, w, b=None):
        if not self._is_own(x):
            return None
        (dy,) = grads
        dx = self._own_bound("data", dy, w, (x, w), x.shape)
        dw = self._own_bound("filter", x, dy, (x, w), w.shape)
        return [dx, dw, *[None] * (b is not None)]

    def _own_bound(self, direction, a, b, factors, shape):
        from ._convolving import bound_in_shape

        return bound_in_shape(self._own(), self._problem(*factors), direction, a, b, shape)

    def _windows(self, x, w):
        return windows(self, x.shape[2:], w.shape[2:])

    cases = (
        case({"pads": (1, 1, 1, 1)}, x=(2, 3, 6, 5), w=(4, 3, 3, 3), b=(4,)),
        case(
            {"group": 2, "strides": (2, 1), "dilations": (1, 2), "pads": (1, 2, 0, 1)},
            x=(2, 4, 7, 6),
            w=(6, 2, 3, 2),
            b=(6,),
        ),
        case({"strides": (3,), "pads": (1, 2)}, x=(2, 3, 11), w=(4, 3, 4)),
        case({"auto_pad": "SAME_UPPER", "strides": (2, 2)}, x=(1, 2, 7, 6), w=(3, 2, 3, 2)),
        case({"auto_pad": "SAME_LOWER", "strides": (2, 1)}, x=(1, 2, 6, 5), w=(3, 2, 3, 2), b=(3,)),
        case({"auto_pad": "VALID", "kernel_shape": (2, 2)}, x=(1, 2, 4, 4), w=(1, 2, 2, 2)),
        case({"group": 3, "pads": (1, 1)}, x=(2, 3, 5), w=(6, 1, 3)),
        case({"strides": (1, 2, 1)}, x=(1, 2, 3, 4, 3), w=(2, 2, 2, 2, 2), b=(2,)),
        case({"strides": (3, 3)}, x=(1, 1, 6, 8), w=(1, 1, 2, 2)),
        case(x=(1, 1, 3, 3), w=(1, 1, 3, 3)),
    )


def _blocked(t):
    """Bytes of a copy whose channels fill whole blocks."""
    channels = t.shape[1]
    block = _block()
    return t.nbytes // max(1, channels) * block * -(-channels // block)


@cache
def _block():
    """How many channels oneDNN computes together: as many as a vector register of this processor holds."""
    try:
        processor = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return 8
    return 16 if "avx512f" in processor else 8
