import math

from ..contracts.operator import case
from ._reduction import Reduction, is_empty, reduced


class ReduceLogSumExp(Reduction):
    """The logarithm of the sum of exponentials over some axes, which never overflows on the way."""

    def reduce(self, xp, x, axes):
        if is_empty(x.shape, axes):
            return xp.full(reduced(x.shape, axes), -math.inf, x.dtype)
        return xp.logsumexp(x, axis=axes, keepdims=True)

    def spread(self, xp, dy, x, y, axes):
        return dy * xp.exp(x - y)

    def kernel(self, torch, x, axes, keepdim):
        return torch.logsumexp(x, axes, keepdim)

    def jax(self, jax, data, axes=None):
        x, where, keep = self._asked(jax.numpy, data, axes)
        return jax.nn.logsumexp(x, where, keepdims=keep)

    def tensorflow(self, tf, data, axes=None):
        x, where, keep = self._asked(tf, data, axes)
        return tf.reduce_logsumexp(x, where, keep)

    def flops(self, data, axes=None):
        return 4 * data.size  # max, subtract, exp, sum

    cases = (
        case(data=(2, 3, 4), axes=[1]),
        case({"keepdims": 0}, data=[[1000.0, 1000.5, 999.0], [-1000.0, 0.0, 1.0]], axes=[-1]),
        case({"noop_with_empty_axes": 1}, data=(2, 3)),
    )
