from ..contracts.operator import case
from ._reduction import (
    ReducedExtreme,
    is_empty,
    limits,
    reduced,
)


class ReduceMax(ReducedExtreme):
    """The largest element along some axes."""

    def reduce(self, xp, x, axes):
        if is_empty(x.shape, axes):
            return xp.full(reduced(x.shape, axes), limits(x)[0], x.dtype)
        return xp.max(x, axis=axes, keepdims=True)

    def kernel(self, torch, x, axes, keepdim):
        if is_empty(x.shape, axes):
            return torch.full(
                reduced(x.shape, axes, keepdim), limits(x)[0], dtype=x.dtype, device=x.device
            )
        return torch.amax(x, axes, keepdim)

    def jax(self, jax, data, axes=None):
        x, where, keep = self._asked(jax.numpy, data, axes)
        return jax.numpy.max(x, where, keepdims=keep, initial=limits(x)[0])

    def tensorflow(self, tf, data, axes=None):
        x, where, keep = self._asked(tf, data, axes)
        return (tf.reduce_any if x.dtype == tf.bool else tf.reduce_max)(x, where, keep)

    cases = (
        case(data=(2, 3, 4), axes=[1]),
        case({"keepdims": 0}, data=(3, 4), axes=[-1, 0]),
        case({"keepdims": 0, "noop_with_empty_axes": 1}, data=(2, 3)),
    )
