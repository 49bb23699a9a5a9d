from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, case
from ._indexing import check_indices
from .scatter_elements import ScatterElements


class Scatter(Operator):
    """ScatterElements as it was called in opsets 9 and 10."""

    since = 9
    axis_range = of_first_input
    axis: int = 0
    integers = ("indices",)

    def forward(self, xp, data, indices, updates):
        return ScatterElements(self.axis).forward(xp, data, indices, updates)

    def backward(self, xp, dy, data, indices, updates, y):
        return ScatterElements(self.axis).backward(xp, dy, data, indices, updates, y)

    def pytorch(self, torch, data, indices, updates):
        return ScatterElements(self.axis).pytorch(torch, data, indices, updates)

    def check(self, data, indices, updates):
        check_indices(indices, data.shape[self.axis])

    def infer(self, data, indices, updates):
        return (data,)

    def flops(self, data, indices, updates):
        return 0

    cases = (case({"axis": 1}, data=(2, 5), indices=[[1, 3]], updates=(1, 2)),)
