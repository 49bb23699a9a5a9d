from typing import NamedTuple

from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import (
    Ints,
    Operator,
    TensorSpec,
    case,
)


class Slice(Operator):
    """Every step-th element between a start and an end along some axes, as Python slices."""

    axis_range = of_first_input

    def forward(  # type: ignore[no-untyped-def]
        self,
        xp,
        data,
        starts: Ints,
        ends: Ints,
        axes: Ints = None,
        steps: Ints = None,
    ):
        spans = _spans(data.shape, starts, ends, axes, steps)
        return _turned(xp.flip, data[_upwards(spans)], spans)

    def backward(self, xp, dy, data, starts, ends, axes, steps):
        spans = _spans(data.shape, starts, ends, axes, steps)
        if 0 in dy.shape:
            return xp.zeros_like(data)
        wide = xp.stuff(_turned(xp.flip, dy, spans), [abs(span.step) for span in spans])
        return xp.pad(
            wide,
            [
                (span.low, n - span.low - m)
                for span, n, m in zip(spans, data.shape, wide.shape, strict=True)
            ],
        )

    def pytorch(self, torch, data, starts, ends, axes=None, steps=None):
        spans = _spans(data.shape, starts, ends, axes, steps)
        return _turned(torch.flip, data[_upwards(spans)], spans)

    def infer(self, data, starts, ends, axes=None, steps=None):
        return (
            TensorSpec(
                tuple(span.size for span in _spans(data.shape, starts, ends, axes, steps)),
                data.dtype,
            ),
        )

    def flops(self, data, starts, ends, axes=None, steps=None):
        return 0

    cases = (
        case(data=(4, 5), starts=[1, 0], ends=[3, -1]),
        case(data=(6, 5), starts=[-1, 1], ends=[-100, 1000], axes=[0, -1], steps=[-2, 3]),
        case(data=(3, 4), starts=[2], ends=[2], axes=[1]),
    )


class _Span(NamedTuple):
    """What is taken along one axis: `size` elements from `low` upwards, read backwards if step is negative."""

    low: int
    size: int
    step: int


def _spans(shape, starts, ends, axes, steps):
    spans = [_Span(0, n, 1) for n in shape]
    axes = range(len(starts)) if axes is None else axes
    for axis, start, end, step in zip(axes, starts, ends, steps or (1,) * len(starts), strict=True):
        taken = range(*slice(start, end, step).indices(shape[axis]))
        spans[axis] = _Span(min(taken[0], taken[-1]) if taken else 0, len(taken), step)
    return spans


def _upwards(spans):
    return tuple(
        slice(s.low, s.low + (s.size - 1) * abs(s.step) + 1 if s.size else s.low, abs(s.step))
        for s in spans
    )


def _turned(flip, x, spans):
    axes = tuple(axis for axis, span in enumerate(spans) if span.step < 0)
    return flip(x, axes) if axes else x
