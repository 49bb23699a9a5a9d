from ..contracts.operator import case
from ._reduction import Reduction


class ReduceL2(Reduction):
    """The root of the sum of squares over some axes; its derivative where all are 0 is taken as 0."""

    def reduce(self, xp, x, axes):
        return xp.sqrt(xp.sum(xp.square(x), axis=axes, keepdims=True))

    def spread(self, xp, dy, x, y, axes):
        return dy * x / xp.where(y == 0, xp.ones_like(y), y)

    def kernel(self, torch, x, axes, keepdim):
        return torch.linalg.vector_norm(x, 2, axes, keepdim)

    def flops(self, data, axes=None):
        return 2 * data.size

    cases = (
        case(data=(2, 3, 4), axes=[1]),
        case({"keepdims": 0}, data=(3, 4), axes=[-1]),
        case({"noop_with_empty_axes": 1}, data=(2, 3)),
    )
