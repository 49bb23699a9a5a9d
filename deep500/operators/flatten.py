import math

from ..contracts.operator import Operator, TensorSpec, case


class Flatten(Operator):
    """The same elements as a matrix: the axes before `axis` become rows, the others columns."""

    axis: int = 1

    def forward(self, xp, x):
        return xp.reshape(x, self._matrix(x.shape))

    def backward(self, xp, dy, x):
        return xp.reshape(dy, x.shape)

    def pytorch(self, torch, x):
        return torch.reshape(x, self._matrix(x.shape))

    def jax(self, jax, x):
        return jax.numpy.reshape(x, self._matrix(x.shape))

    def tensorflow(self, tf, x):
        return tf.reshape(x, self._matrix(x.shape))

    def infer(self, x):
        return (TensorSpec(self._matrix(x.shape), x.dtype),)

    def axis_range(self, x):
        rank = max(len(x.shape), 1)
        return range(-rank, rank + 1)

    def flops(self, x):
        return 0

    def bytes_moved(self, x):
        return 0  # a view

    def _matrix(self, shape):
        axis = self.axis if self.axis >= 0 else self.axis + len(shape)
        return math.prod(shape[:axis]), math.prod(shape[axis:])

    cases = (
        case(x=(2, 3, 4)),
        case({"axis": 0}, x=(2, 3)),
        case({"axis": 3}, x=(2, 3, 4)),
        case({"axis": -1}, x=(2, 3, 4)),
        case(x=(5,)),
        case(x=(0, 3, 2)),
    )
