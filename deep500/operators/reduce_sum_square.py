from ..contracts.operator import case
from ._reduction import Reduction


class ReduceSumSquare(Reduction):
    """The sum of squares over some axes."""

    def reduce(self, xp, x, axes):
        return xp.sum(xp.square(x), axis=axes, keepdims=True)

    def spread(self, xp, dy, x, y, axes):
        return 2 * dy * x

    def kernel(self, torch, x, axes, keepdim):
        return torch.sum(torch.square(x), axes, keepdim, dtype=x.dtype)

    def flops(self, data, axes=None):
        return 2 * data.size

    cases = (
        case(data=(2, 3, 4), axes=[0, 2]),
        case({"keepdims": 0}, data=(3, 4)),
        case({"noop_with_empty_axes": 1}, data=(2, 3)),
    )
