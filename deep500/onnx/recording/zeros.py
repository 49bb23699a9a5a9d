"""Zeros that are known to be zeros: most are gradients of outputs that nobody used."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import spox.opset.ai.onnx.v21 as op

from ...contracts.operator import broadcast_shapes
from .arrays import Recorded, const, int64s


class Zeros(Recorded):
    """A product with them is zeros again and a sum with them is the other term, so that neither needs a node.

    Both hold for finite numbers only, as do the derivatives in which such products stand.
    """

    def __init__(self, shape: Sequence[int], dtype: Any):
        super().__init__(expanded(const(0, dtype), shape).var)

    def __mul__(self, other: Any) -> "Zeros":
        return Zeros(_common_shape(self, other), self.dtype)

    __rmul__ = __truediv__ = __mul__

    def __add__(self, other: Any) -> Recorded:
        return expanded(const(other, self.dtype), _common_shape(self, other))

    __radd__ = __rsub__ = __add__

    def __sub__(self, other: Any) -> Recorded:
        return -(self + other)

    def __neg__(self) -> "Zeros":
        return self


def expanded(x: Recorded, shape: Sequence[int]) -> Recorded:
    """x broadcast to a shape."""
    if tuple(shape) == x.shape:
        return x
    if isinstance(x, Zeros):
        return Zeros(shape, x.dtype)
    if 0 in shape:  # engines differ in what Expand makes of an axis of length 1 then
        return const(np.zeros(tuple(shape), x.dtype))
    return Recorded(op.expand(x.var, int64s(list(shape))))


def _common_shape(x: Recorded, y: Any) -> tuple[int, ...]:
    return broadcast_shapes([x.shape, y.shape]) if isinstance(y, Recorded) else x.shape
