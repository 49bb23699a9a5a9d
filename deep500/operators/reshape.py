import math

from ..contracts.operator import (
    Ints,
    Operator,
    TensorSpec,
    case,
)


class Reshape(Operator):
    """The same elements in another shape: 0 keeps an axis (unless allowzero), -1 is whatever is left."""

    since = 5
    allowzero: int = 0

    def forward(self, xp, data, shape: Ints):  # type: ignore[no-untyped-def]
        return xp.reshape(data, self._shape(data.shape, shape))

    def backward(self, xp, dy, data):
        return xp.reshape(dy, data.shape)

    def pytorch(self, torch, data, shape):
        return torch.reshape(data, self._shape(data.shape, shape))

    def jax(self, jax, data, shape):
        return jax.numpy.reshape(data, self._shape(data.shape, shape))

    def tensorflow(self, tf, data, shape):
        return tf.reshape(data, self._shape(data.shape, shape))

    def infer(self, data, shape):
        return (TensorSpec(self._shape(data.shape, shape), data.dtype),)

    def flops(self, data, shape):
        return 0

    def bytes_moved(self, data, shape):
        return 0  # a view

    def _shape(self, old, new):
        new = tuple(old[i] if n == 0 and not self.allowzero else n for i, n in enumerate(new))
        rest = math.prod(n for n in new if n != -1)
        return tuple(math.prod(old) // rest if n == -1 else n for n in new)

    cases = (
        case(data=(2, 3, 4), shape=[4, 6]),
        case(data=(2, 3, 4), shape=[0, -1]),
        case(data=(2, 3, 4), shape=[0, 0, 2, -1]),
        case(data=(6,), shape=[-1]),
        case(data=(1,), shape=[]),
        case({"allowzero": 1}, data=(0, 3), shape=[3, 0]),
    )
