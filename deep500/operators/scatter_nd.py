import math

from ..contracts.operator import Operator, case
from ._indexing import check_index_vectors, row_numbers
from ._scatter import Combination, scatter, scatter_gradients


class ScatterND(Operator):
    """A copy of data with updates in the slices that the vectors along the last axis of indices point to."""

    since = 11
    reduction: Combination = "none"
    integers = ("indices",)

    def forward(self, xp, data, indices, updates):
        flat, places, rows = _rows(xp, data, indices, updates)
        return xp.reshape(scatter(xp, flat, places, rows, 0, self.reduction), data.shape)

    def backward(self, xp, dy, data, indices, updates, y):
        flat, places, rows = _rows(xp, data, indices, updates)
        dy, y = (xp.reshape(x, flat.shape) for x in (dy, y))
        by_data, by_updates = scatter_gradients(xp, dy, flat, places, rows, y, 0, self.reduction)
        return xp.reshape(by_data, data.shape), None, xp.reshape(by_updates, updates.shape)

    def check(self, data, indices, updates):
        check_index_vectors(indices, data.shape)

    def infer(self, data, indices, updates):
        return (data,)

    def flops(self, data, indices, updates):
        return 0 if self.reduction == "none" else updates.size

    cases = (
        case(data=(4, 2), indices=[[2], [-4]], updates=(2, 2)),
        case({"reduction": "add"}, data=(2, 3), indices=[[[0, 1]], [[0, 1]]], updates=(2, 1)),
        case({"reduction": "mul"}, data=(3, 2), indices=[[1], [1]], updates=(2, 2)),
        case({"reduction": "max"}, data=(3, 2), indices=[[0], [-3]], updates=(2, 2)),
    )


def _rows(xp, data, indices, updates):
    """Data, indices and updates as matrices, in which indices count rows."""
    depth = indices.shape[-1]
    count, width = math.prod(indices.shape[:-1]), math.prod(data.shape[depth:])
    places = xp.reshape(row_numbers(xp, indices, data.shape), (count, 1))
    return (
        xp.reshape(data, (math.prod(data.shape[:depth]), width)),
        xp.broadcast_to(places, (count, width)),
        xp.reshape(updates, (count, width)),
    )
