"""Convolutions and pools, over two axes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...contracts.operator import Operator
from ...operators._sliding import windows
from ..library import call
from ..sums import Part, Target
from .base import FixedRule, NodePlace, Ran, Run, only


class ConvRule(FixedRule):
    def lacks(self, operator: Operator, place: NodePlace) -> str:
        kernel = place.operator.kernel_shape
        if kernel is None or len(kernel) != 2:
            return "over other than two axes of a given kernel_shape"
        return ""

    def forward(self, run: Run, place: NodePlace, inputs: Sequence[Any]) -> Any:
        x, w, *rest = inputs
        x = np.ascontiguousarray(x)
        bias = rest[0] if rest else None
        members, sizes = _numbers(place.operator, x, w.shape[2:])
        numbers = np.array([*members, len(w), place.operator.group], np.int64)
        y = np.empty((len(x), len(w), *sizes), np.float32)
        call("convolve", len(x), numbers, x, w, bias, y)
        return (y,), (x, w, numbers)

    def backward(self, ran: Ran) -> Mapping[int, Any]:
        if 0 not in ran.place.wanted:
            return {}
        x, w, numbers = ran.saved
        dx = np.empty_like(x)
        dy = np.ascontiguousarray(ran.gradients[0])
        call("convolve_by_input", len(x), numbers, dy, w, dx)
        return {0: dx}

    def collect(self, ran: Ran, position: int, part: Part, target: Target) -> None:
        x, _, numbers = ran.saved
        dy = np.ascontiguousarray(part.rows(ran.gradients[0]))
        if position == 2:
            target.add_channels(dy, None, part.leaf)
            return
        x = part.rows(x)
        arguments = target.arguments
        call(
            "convolve_by_weight",
            len(x),
            part.leaf,
            numbers,
            dy,
            x,
            *arguments,
        )


class MaxPoolRule(FixedRule):
    def lacks(self, operator: Operator, place: NodePlace) -> str:
        if len(place.operator.kernel_shape) != 2:
            return "over other than two axes"
        if len(place.node.outputs) > 1:
            return "whose indices are used"
        return only(place, storage_order=0)

    def forward(self, run: Run, place: NodePlace, inputs: Sequence[Any]) -> Any:
        x = np.ascontiguousarray(inputs[0])
        members, sizes = _numbers(place.operator, x, place.operator.kernel_shape)
        numbers = np.array(members, np.int64)
        y = np.empty((*x.shape[:2], *sizes), np.float32)
        places = np.empty(y.shape, np.int64)
        call("pool_max", x.shape[0] * x.shape[1], numbers, x, y, places)
        return (y,), (x.shape, numbers, places)

    def backward(self, ran: Ran) -> Mapping[int, Any]:
        shape, numbers, places = ran.saved
        dx = np.empty(shape, np.float32)
        dy = np.ascontiguousarray(ran.gradients[0])
        call("pool_max_gradient", shape[0] * shape[1], numbers, dy, places, dx)
        return {0: dx}


class AveragePoolRule(FixedRule):
    def lacks(self, operator: Operator, place: NodePlace) -> str:
        if len(place.operator.kernel_shape) != 2:
            return "over other than two axes"
        if any(place.operator.pads or ()):
            return "with pads"
        return only(place, auto_pad="NOTSET", ceil_mode=0)

    def forward(self, run: Run, place: NodePlace, inputs: Sequence[Any]) -> Any:
        x = np.ascontiguousarray(inputs[0])
        members, sizes = _numbers(place.operator, x, place.operator.kernel_shape)
        y = np.empty((*x.shape[:2], *sizes), np.float32)
        saved = x.shape, np.array(members, np.int64)
        call("pool_mean", x.shape[0] * x.shape[1], saved[1], x, y)
        return (y,), saved

    def backward(self, ran: Ran) -> Mapping[int, Any]:
        shape, numbers = ran.saved
        dx = np.empty(shape, np.float32)
        dy = np.ascontiguousarray(ran.gradients[0])
        call("pool_mean_gradient", shape[0] * shape[1], numbers, dy, dx)
        return {0: dx}


def _numbers(
    operator: Any, x: np.ndarray, kernel: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The members of struct Windows, and how many windows there are along both axes."""
    ceil_mode = getattr(operator, "ceil_mode", 0)
    where = windows(operator, x.shape[2:], kernel, ceil_mode)
    sizes = []
    for axis in range(2):
        (before, after), stride = where.pads[axis], where.strides[axis]
        span = where.dilations[axis] * (kernel[axis] - 1) + 1
        sizes.append((x.shape[2 + axis] + before + after - span) // stride + 1)
    starts = [before for before, _ in where.pads]
    numbers = [*x.shape[1:], *kernel, *where.strides, *starts, *where.dilations, *sizes]
    return [int(number) for number in numbers], sizes
