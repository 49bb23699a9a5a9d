from ..contracts.operator import Operator, TensorSpec, case
from ._indexing import upwards


class OneHot(Operator):
    """A new axis of length depth: values[1] at the index, values[0] elsewhere, and for an index outside everywhere."""

    since = 9
    axis: int = -1

    def forward(self, xp, indices, depth: int | float, values):  # type: ignore[no-untyped-def]
        hot = self._hot(xp, indices, depth)
        return xp.where(hot, values[1], values[0])

    def backward(self, xp, dy, indices, depth):
        hot, none = self._hot(xp, indices, depth), xp.zeros_like(dy)
        return None, xp.stack([xp.sum(xp.where(hot, none, dy)), xp.sum(xp.where(hot, dy, none))])

    def infer(self, indices, depth, values):
        axis = self.axis % (len(indices.shape) + 1)
        return (
            TensorSpec((*indices.shape[:axis], int(depth), *indices.shape[axis:]), values.dtype),
        )

    def axis_range(self, indices, depth, values):
        rank = len(indices.shape) + 1
        return range(-rank, rank)

    def flops(self, indices, depth, values):
        return 0

    def _hot(self, xp, indices, depth):
        axis, n = self.axis % (indices.ndim + 1), int(depth)
        places = xp.reshape(xp.arange(n, "int64"), (-1, *[1] * (indices.ndim - axis)))
        return xp.expand_dims(upwards(xp, indices, n), axis) == places

    cases = (
        case(indices=[0, 2, -1, 7], depth=4, values=[0.5, 2.0]),
        case({"axis": 1}, indices=[[0, 1], [2, 0]], depth=3, values=[0.0, 1.0]),
    )
