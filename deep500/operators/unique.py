import math

from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, TensorSpec, case


class Unique(Operator):
    """The different elements, or slices along an axis, in order (or with sorted=0 as they first appear).

    For each its first place and its count; for each element of the input the place of its like in the result.
    """

    since = 11
    axis_range = of_first_input
    axis: int | None = None
    sorted: int = 1
    outputs = ("y", "indices", "inverse_indices", "counts")
    native_outputs = 1
    data_dependent = True

    def forward(self, xp, x):
        line = xp.reshape(x, (math.prod(x.shape),)) if self.axis is None else x
        axis = 0 if self.axis is None else self.axis % x.ndim
        n = line.shape[axis]
        rows = xp.reshape(
            xp.permute_dims(line, (axis, *(a for a in range(line.ndim) if a != axis))), (n, -1)
        )
        order = _order(xp, rows)
        new = _differs(xp, xp.take(rows, order, 0))
        starts = xp.nonzero(new)[:, 0]
        ends = xp.concat([starts[1:], xp.full((1,), n, "int64")])[: starts.shape[0]]
        first, group = xp.take(order, starts, 0), xp.cumulative_sum(xp.astype(new, "int64"), 0) - 1
        inverse, counts = xp.scatter_add(xp.zeros((n,), "int64"), order, group, 0), ends - starts
        if not self.sorted:
            seen = xp.scatter_add(xp.zeros((n,), "int64"), order, xp.astype(new, "int64"), 0)
            appearing = xp.nonzero(seen)[:, 0]
            counts = xp.take(counts, xp.take(inverse, appearing, 0), 0)
            inverse = xp.take(xp.cumulative_sum(seen, 0) - 1, xp.take(first, inverse, 0), 0)
            first = appearing
        return xp.take(line, first, axis), first, inverse, counts

    def native(self, framework):
        return super().native(framework) if self.sorted else None

    def pytorch(self, torch, x):
        return torch.unique(x, dim=self.axis)

    def infer(self, x):
        n = x.size if self.axis is None else x.shape[self.axis]
        return (
            TensorSpec((n,) if self.axis is None else x.shape, x.dtype),
            *[TensorSpec((n,), "int64")] * 3,
        )

    def flops(self, x):
        return x.size

    cases = (
        case(x=[2, 1, 1, 3, 4, 3]),
        case({"sorted": 0}, x=[2, 1, 1, 3, 4, 3]),
        case({"axis": 0}, x=[[1, 0, 0], [1, 0, 0], [2, 3, 4], [1, 0, -1]]),
        case({"axis": -1}, x=[[[1, 1, 0], [0, 1, 0]], [[0, 1, 2], [2, 1, 2]]]),
    )


def _ascending(xp, x):
    """The places of the elements in ascending order; equal ones keep theirs."""
    backwards = xp.sort_descending(xp.flip(x, 0), 0)[1]
    return xp.flip(x.shape[0] - 1 - backwards, 0)


def _order(xp, rows):
    """The places of the rows in ascending order: sorted by one column after the other, the first one last."""
    order = xp.arange(rows.shape[0], "int64")
    for column in reversed(range(rows.shape[1])):
        order = xp.take(order, _ascending(xp, xp.take(rows[:, column], order, 0)), 0)
    return order


def _differs(xp, rows):
    """Whether each row is not the one before it."""
    changes = xp.sum(xp.astype(rows[1:] != rows[:-1], "int64"), axis=1) > 0
    return xp.concat([xp.full((min(1, rows.shape[0]),), True, "bool"), changes])
