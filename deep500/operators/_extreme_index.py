"""What ArgMax and ArgMin share."""

from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, TensorSpec
from ._reduction import reduced


class ExtremeIndex(Operator):
    """The place of an extreme element along an axis: of the first one, or with select_last_index of the last."""

    axis_range = of_first_input
    axis: int = 0
    keepdims: int = 1
    select_last_index: int = 0

    def forward(self, xp, data):
        if not self.select_last_index:
            return self.first(xp, data)
        return data.shape[self.axis] - 1 - self.first(xp, xp.flip(data, self.axis))

    def first(self, xp, x):
        raise NotImplementedError

    def infer(self, data):
        return (
            TensorSpec(reduced(data.shape, (self.axis % len(data.shape),), self.keepdims), "int64"),
        )

    def flops(self, data):
        return data.size
