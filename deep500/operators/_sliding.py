"""Where the windows of Conv and of the pools lie."""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from ..contracts.operator import Ints
from ..namespace import window_counts

AutoPad = Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]


class Sliding(Protocol):
    """The attributes that such operators share."""

    @property
    def auto_pad(self) -> str: ...
    @property
    def dilations(self) -> Ints: ...
    @property
    def pads(self) -> Ints: ...
    @property
    def strides(self) -> Ints: ...


class SlidingWindows(NamedTuple):
    """Per spatial axis, in the order in which `xp.conv` takes them."""

    strides: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    dilations: tuple[int, ...]


def windows(
    operator: Sliding, shape: Sequence[int], kernel: Sequence[int], ceil_mode: int = 0
) -> SlidingWindows:
    """The windows of a kernel over an input of this spatial shape, automatic and partial padding worked out."""
    n = len(kernel)
    if n == 0 or len(shape) != n:
        raise ValueError(
            f"after batch and channels, the input has {len(shape)} axes and the kernel {n}: give both as many"
        )
    strides, dilations = operator.strides or (1,) * n, operator.dilations or (1,) * n
    flat = operator.pads or (0,) * 2 * n
    _check_length("strides", strides, n, 1)
    _check_length("dilations", dilations, n, 1)
    if operator.auto_pad == "NOTSET":
        _check_length("pads", flat, n, 2)
    pads = zip(flat[:n], flat[n:], strict=True)
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
    axes = list(zip(shape, spans, strides, strict=True))
    if operator.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        return SlidingWindows(
            strides, tuple(_same(*axis, operator.auto_pad) for axis in axes), dilations
        )
    if operator.auto_pad == "VALID":
        return SlidingWindows(strides, ((0, 0),) * n, dilations)
    if ceil_mode:
        return SlidingWindows(
            strides,
            tuple(_whole(*axis, *pad) for axis, pad in zip(axes, pads, strict=True)),
            dilations,
        )
    return SlidingWindows(strides, tuple(pads), dilations)


def _check_length(name: str, values: Sequence[int], axes: int, per_axis: int) -> None:
    if len(values) == axes * per_axis:
        return
    order = ", all at the beginning first" if per_axis == 2 else ""
    raise ValueError(
        f"{name} are {tuple(values)}: a kernel of {axes} axes needs {axes * per_axis} numbers{order}"
    )


def counts(shape: Sequence[int], kernel: Sequence[int], where: SlidingWindows) -> tuple[int, ...]:
    """How many windows there are along every axis."""
    padded = [size + lo + hi for size, (lo, hi) in zip(shape, where.pads, strict=True)]
    return window_counts(padded, kernel, where.strides, where.dilations)


def _same(size: int, span: int, stride: int, auto_pad: str) -> tuple[int, int]:
    """As much padding as gives ceil(size / stride) windows; an odd rest goes to the end, or to the beginning."""
    total = max(0, (math.ceil(size / stride) - 1) * stride + span - size)
    return (
        (total // 2, total - total // 2)
        if auto_pad == "SAME_UPPER"
        else (total - total // 2, total // 2)
    )


def _whole(size: int, span: int, stride: int, lo: int, hi: int) -> tuple[int, int]:
    """Padding that makes a last, partial window whole, if it starts before the padding at the end."""
    last = math.ceil((size + lo + hi - span) / stride)
    last -= last * stride >= size + lo
    return lo, max(hi, last * stride + span - size - lo)
