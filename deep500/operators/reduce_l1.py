from ..contracts.operator import case
from ._reduction import Reduction


class ReduceL1(Reduction):
    """The sum of absolute values over some axes."""

    def reduce(self, xp, x, axes):
        return xp.sum(xp.abs(x), axis=axes, keepdims=True)

    def spread(self, xp, dy, x, y, axes):
        return dy * xp.sign(x)

    def kernel(self, torch, x, axes, keepdim):
        return torch.sum(torch.abs(x), axes, keepdim, dtype=x.dtype)

    cases = (
        case(data=(2, 3, 4), axes=[1]),
        case({"keepdims": 0}, data=(3, 4)),
        case({"noop_with_empty_axes": 1}, data=(2, 3)),
    )
