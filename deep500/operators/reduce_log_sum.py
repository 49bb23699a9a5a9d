from ..contracts.operator import case
from ._reduction import Reduction


class ReduceLogSum(Reduction):
    """The logarithm of the sum over some axes."""

    def reduce(self, xp, x, axes):
        return xp.log(xp.sum(x, axis=axes, keepdims=True))

    def spread(self, xp, dy, x, y, axes):
        return xp.broadcast_to(dy / xp.sum(x, axis=axes, keepdims=True), x.shape)

    def kernel(self, torch, x, axes, keepdim):
        return torch.log(torch.sum(x, axes, keepdim))

    cases = (
        case(data=[[0.5, 1.0, 2.5], [3.0, -1.0, 4.0]], axes=[1]),
        case({"keepdims": 0}, data=[[0.5, 1.0, 2.5], [3.0, 1.0, 4.0]]),
        case({"noop_with_empty_axes": 1}, data=[[0.5, 2.0]]),
    )
