"""Arrays that are known to be zeros: most are gradients of outputs that nobody uses."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import spox.opset.ai.onnx.v21 as op

from ...contracts.operator import broadcast_shapes
from .arrays import Recorded, const, int64s


class RecordedZeros(Recorded):
    """Zeros whose products are zeros again and whose sums are the other term, so that neither needs a node.

    Both hold for finite numbers only, as do the derivatives in which such products occur.
    """

    def __init__(self, shape: Sequence[int], dtype: Any):
        zeros = expanded(const(0, dtype), shape)
        super().__init__(zeros.var)

    def __mul__(self, other: Any) -> "RecordedZeros":
        shape = _common_shape(self, other)
        return RecordedZeros(shape, self.dtype)

    __rmul__ = __truediv__ = __mul__

    def __add__(self, other: Any) -> Recorded:
        term = const(other, self.dtype)
        return expanded(term, _common_shape(self, other))

    __radd__ = __rsub__ = __add__

    def __sub__(self, other: Any) -> Recorded:
        return -(self + other)

    def __neg__(self) -> "RecordedZeros":
        return self


def expanded(x: Recorded, shape: Sequence[int]) -> Recorded:
    """x broadcast to a shape."""
    if tuple(shape) == x.shape:
        return x
    if isinstance(x, RecordedZeros):
        return RecordedZeros(shape, x.dtype)
    if 0 in shape:  # engines differ in how they expand an axis of length 1 then
        return const(np.zeros(tuple(shape), x.dtype))
    sizes = int64s(list(shape))
    return Recorded(op.expand(x.var, sizes))


def _common_shape(x: Recorded, y: Any) -> tuple[int, ...]:
    if not isinstance(y, Recorded):
        return x.shape
    return broadcast_shapes([x.shape, y.shape])
