from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, case
from ._indexing import check_indices
from ._scatter import TORCH, Combination, scatter, scatter_gradients


class ScatterElements(Operator):
    """A copy of data with updates at their own places, but along one axis at the indices."""

    since = 11
    axis_range = of_first_input
    axis: int = 0
    reduction: Combination = "none"
    integers = ("indices",)

    def forward(self, xp, data, indices, updates):
        return scatter(xp, data, indices, updates, self.axis % data.ndim, self.reduction)

    def backward(self, xp, dy, data, indices, updates, y):
        by_data, by_updates = scatter_gradients(
            xp, dy, data, indices, updates, y, self.axis % data.ndim, self.reduction
        )
        return by_data, None, by_updates

    def pytorch(self, torch, data, indices, updates):
        indices = torch.where(indices < 0, indices + data.shape[self.axis], indices)
        if self.reduction == "none":
            return torch.scatter(data, self.axis, indices, updates)
        return torch.scatter_reduce(data, self.axis, indices, updates, TORCH[self.reduction])

    def check(self, data, indices, updates):
        check_indices(indices, data.shape[self.axis])

    def infer(self, data, indices, updates):
        return (data,)

    def flops(self, data, indices, updates):
        return 0 if self.reduction == "none" else updates.size

    cases = (
        case({"axis": 1}, data=(2, 5), indices=[[1, -2]], updates=(1, 2)),
        case(
            {"axis": -1, "reduction": "add"},
            data=(2, 4),
            indices=[[0, 0, 3], [1, 2, 1]],
            updates=(2, 3),
        ),
        case(
            {"reduction": "mul"},
            data=[[0.0, 2.0, 3.0], [1.5, 0.0, 1.0]],
            indices=[[0, 1, 1], [0, 1, 1]],
            updates=[[2.0, 3.0, 0.5], [4.0, 0.0, 2.5]],
        ),
        case({"reduction": "max"}, data=(3, 2), indices=[[1], [1]], updates=(2, 1)),
        case(
            {"axis": 1, "reduction": "min"}, data=(2, 3), indices=[[1, 1], [0, 2]], updates=(2, 2)
        ),
    )
