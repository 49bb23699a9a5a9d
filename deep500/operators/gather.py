from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, TensorSpec, case
from ._indexing import check_indices, take_adjoint, upwards


class Gather(Operator):
    """The slices of data that indices of any shape name along an axis."""

    axis_range = of_first_input
    axis: int = 0
    integers = ("indices",)

    def forward(self, xp, data, indices):
        return xp.take(data, upwards(xp, indices, data.shape[self.axis]), self.axis)

    def backward(self, xp, dy, data, indices):
        return take_adjoint(
            xp, dy, upwards(xp, indices, data.shape[self.axis]), data.shape, self.axis
        )

    def pytorch(self, torch, data, indices):
        indices = torch.where(indices < 0, indices + data.shape[self.axis], indices)
        axis = self.axis % data.ndim
        rows = torch.index_select(data, axis, torch.reshape(indices, (-1,)))
        return torch.reshape(rows, (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :]))

    def check(self, data, indices):
        check_indices(indices, data.shape[self.axis])

    def infer(self, data, indices):
        axis = self.axis % len(data.shape)
        return (
            TensorSpec((*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :]), data.dtype),
        )

    def flops(self, data, indices):
        return 0

    cases = (
        case(data=(4, 3), indices=[[0, 3], [3, -4]]),
        case({"axis": -1}, data=(2, 3, 4), indices=[1, -1, 1]),
        case({"axis": 1}, data=(2, 3), indices=2),
    )
