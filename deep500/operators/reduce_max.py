from ..contracts.operator import case
from ._reduction import Extreme, is_empty, limits, reduced


class ReduceMax(Extreme):
    """The largest element along some axes."""

    def reduce(self, xp, x, axes):
        if is_empty(x.shape, axes):
            return xp.full(reduced(x.shape, axes), limits(x)[0], x.dtype)
        return xp.max(x, axis=axes, keepdims=True)

    def kernel(self, torch, x, axes, keepdim):
        if is_empty(x.shape, axes):
            return torch.full(reduced(x.shape, axes, keepdim), limits(x)[0], dtype=x.dtype)
        return torch.amax(x, axes, keepdim)

    cases = (
        case(data=(2, 3, 4), axes=[1]),
        case({"keepdims": 0}, data=(3, 4), axes=[-1, 0]),
        case({"keepdims": 0, "noop_with_empty_axes": 1}, data=(2, 3)),
    )
