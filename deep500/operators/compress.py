import math

from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, TensorSpec, case
from ._indexing import take_adjoint


class Compress(Operator):
    """The slices along an axis, or without one the elements, for which a condition holds; it may end early."""

    since = 9
    axis_range = of_first_input
    axis: int | None = None
    data_dependent = True

    def forward(self, xp, x, condition):
        x, axis = self._line(xp, x)
        return xp.take(x, xp.nonzero(condition)[:, 0], axis)

    def backward(self, xp, dy, x, condition):
        line, axis = self._line(xp, x)
        return xp.reshape(
            take_adjoint(xp, dy, xp.nonzero(condition)[:, 0], line.shape, axis), x.shape
        )

    def infer(self, x, condition):
        if self.axis is None:
            return (TensorSpec((min(x.size, condition.size),), x.dtype),)
        axis = self.axis % len(x.shape)
        most = min(x.shape[axis], condition.size)
        return (TensorSpec((*x.shape[:axis], most, *x.shape[axis + 1 :]), x.dtype),)

    def flops(self, x, condition):
        return 0

    def _line(self, xp, x):
        return (
            (xp.reshape(x, (math.prod(x.shape),)), 0)
            if self.axis is None
            else (x, self.axis % x.ndim)
        )

    cases = (
        case({"axis": 1}, x=(2, 3, 2), condition=[False, True]),
        case(x=(2, 3), condition=[True, False, True, False, True, True]),
        case({"axis": -2}, x=(3, 2), condition=[True, False, True]),
    )
