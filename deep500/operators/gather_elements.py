from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, TensorSpec, case
from ._indexing import check_indices, upwards


class GatherElements(Operator):
    """For every index the element of data at its own place, but along one axis at the index."""

    since = 11
    axis_range = of_first_input
    axis: int = 0
    integers = ("indices",)

    def forward(self, xp, data, indices):
        axis = self.axis % data.ndim
        reach = tuple(
            slice(0, data.shape[i] if i == axis else n) for i, n in enumerate(indices.shape)
        )
        return xp.take_along_axis(data[reach], upwards(xp, indices, data.shape[axis]), axis)

    def backward(self, xp, dy, data, indices):
        axis = self.axis % data.ndim
        return xp.scatter_add(
            xp.zeros(data.shape, dy.dtype), upwards(xp, indices, data.shape[axis]), dy, axis
        )

    def pytorch(self, torch, data, indices):
        return torch.gather(
            data, self.axis, torch.where(indices < 0, indices + data.shape[self.axis], indices)
        )

    def check(self, data, indices):
        check_indices(indices, data.shape[self.axis])

    def infer(self, data, indices):
        return (TensorSpec(indices.shape, data.dtype),)

    def flops(self, data, indices):
        return 0

    cases = (
        case({"axis": 1}, data=(2, 3), indices=[[0, 0, 2, -1], [1, 2, 1, 0]]),
        case(data=(3, 2), indices=[[-3, 2]]),
        case({"axis": -1}, data=(3, 3), indices=[[2], [0]]),
    )
