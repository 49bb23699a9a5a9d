from ..contracts.operator import case
from ..namespace import count
from ._reduction import Reduction


class ReduceMean(Reduction):
    """The mean over some axes."""

    def reduce(self, xp, x, axes):
        return xp.mean(x, axis=axes, keepdims=True)

    def spread(self, xp, dy, x, y, axes):
        return xp.broadcast_to(dy / max(1, count(x.shape, axes)), x.shape)

    def kernel(self, torch, x, axes, keepdim):
        return torch.mean(x, axes, keepdim)

    def jax(self, jax, data, axes=None):
        x, where, keep = self._asked(jax.numpy, data, axes)
        return jax.numpy.mean(x, where, x.dtype, keepdims=keep)

    cases = (
        case(data=(2, 3, 4), axes=[-1]),
        case({"keepdims": 0}, data=(2, 3, 4), axes=[0, 2]),
        case(data=(3,)),
    )
