from ..contracts.operator import case
from ._reduction import Reduction


class ReduceSum(Reduction):
    """The sum over some axes."""

    def reduce(self, xp, x, axes):
        return xp.sum(x, axis=axes, keepdims=True)

    def spread(self, xp, dy, x, y, axes):
        return xp.broadcast_to(dy, x.shape)

    def kernel(self, torch, x, axes, keepdim):
        return torch.sum(x, axes, keepdim, dtype=x.dtype)

    def jax(self, jax, data, axes=None):
        x, where, keep = self._asked(jax.numpy, data, axes)
        return jax.numpy.sum(x, where, x.dtype, keepdims=keep)

    def tensorflow(self, tf, data, axes=None):
        x, where, keep = self._asked(tf, data, axes)
        return tf.reduce_sum(x, where, keep)

    cases = (
        case(data=(2, 3, 4), axes=[1]),
        case({"keepdims": 0}, data=(2, 3, 4), axes=[-1, 0]),
        case({"keepdims": 0}, data=(2, 3)),
        case({"noop_with_empty_axes": 1}, data=(2, 3), axes=[]),
        case(data=(2, 0, 3), axes=[1]),
    )
