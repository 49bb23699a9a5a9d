import math

from ..contracts.operator import Operator, TensorSpec, case
from ._indexing import check_index_vectors, row_numbers, take_adjoint


class GatherND(Operator):
    """The slices of data that the vectors along the last axis of indices point to, batch by batch."""

    since = 11
    batch_dims: int = 0
    integers = ("indices",)

    def forward(self, xp, data, indices):
        places = row_numbers(xp, indices, data.shape, self.batch_dims)
        return xp.take(xp.reshape(data, self._rows(data.shape, indices.shape)), places, 0)

    def backward(self, xp, dy, data, indices):
        places = row_numbers(xp, indices, data.shape, self.batch_dims)
        return xp.reshape(
            take_adjoint(xp, dy, places, self._rows(data.shape, indices.shape), 0), data.shape
        )

    def check(self, data, indices):
        check_index_vectors(indices, data.shape[self.batch_dims :])

    def infer(self, data, indices):
        return (
            TensorSpec(
                (*indices.shape[:-1], *data.shape[self.batch_dims + indices.shape[-1] :]),
                data.dtype,
            ),
        )

    def flops(self, data, indices):
        return 0

    def _rows(self, shape, indices):
        """The shape of data with the axes of batches and indices flattened to one."""
        split = self.batch_dims + indices[-1]
        return math.prod(shape[:split]), *shape[split:]

    cases = (
        case(data=(2, 3, 2), indices=[[0, 1], [1, -1], [0, 1]]),
        case({"batch_dims": 1}, data=(2, 3, 2), indices=[[[1], [0]], [[-1], [2]]]),
        case(data=(2, 2), indices=[[0, 0], [-1, -2]]),
    )
