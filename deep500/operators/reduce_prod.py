from ..contracts.operator import case
from ._products import others
from ._reduction import Reduction


class ReduceProd(Reduction):
    """The product over some axes."""

    def reduce(self, xp, x, axes):
        return xp.prod(x, axis=axes, keepdims=True)

    def spread(self, xp, dy, x, y, axes):
        zeros = xp.sum(xp.astype(x == 0, x.dtype), axis=axes, keepdims=True)
        product = xp.prod(xp.where(x == 0, xp.ones_like(x), x), axis=axes, keepdims=True)
        return dy * others(xp, x, zeros, product)

    def kernel(self, torch, x, axes, keepdim):
        for axis in reversed(axes):  # PyTorch takes one at a time
            x = torch.prod(x, axis, keepdim, dtype=x.dtype)
        return x

    def jax(self, jax, data, axes=None):
        x, where, keep = self._asked(jax.numpy, data, axes)
        return jax.numpy.prod(x, where, x.dtype, keepdims=keep)

    def tensorflow(self, tf, data, axes=None):
        x, where, keep = self._asked(tf, data, axes)
        return tf.reduce_prod(x, where, keep)

    cases = (
        case(data=(2, 3, 2), axes=[2, 0]),
        case({"keepdims": 0}, data=[[1.5, 0.0, -2.0], [0.0, 0.0, 3.0], [0.5, 4.0, -1.0]], axes=[1]),
        case(data=(2, 0), axes=[-1]),
    )
