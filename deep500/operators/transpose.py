from ..contracts.operator import (
    Ints,
    Operator,
    TensorSpec,
    case,
)
from ..errors import Deep500Error


class Transpose(Operator):
    """The axes in the order of `perm`, or reversed."""

    perm: Ints = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.perm is not None:
            object.__setattr__(self, "perm", _from_the_front(self.perm))

    def forward(self, xp, data):
        return xp.permute_dims(data, self._order(data.shape))

    def backward(self, xp, dy):
        order = self._order(dy.shape)
        return xp.permute_dims(dy, tuple(order.index(axis) for axis in range(len(order))))

    def pytorch(self, torch, data):
        return torch.permute(data, self._order(data.shape))

    def jax(self, jax, data):
        return jax.numpy.permute_dims(data, self._order(data.shape))

    def tensorflow(self, tf, data):
        return tf.transpose(data, self._order(data.shape))

    def infer(self, data):
        return (
            TensorSpec(tuple(data.shape[axis] for axis in self._order(data.shape)), data.dtype),
        )

    def flops(self, data):
        return 0

    def _order(self, shape):
        if self.perm is None:
            return tuple(reversed(range(len(shape))))
        if len(self.perm) != len(shape):
            raise ValueError(
                f"perm of Transpose orders {len(self.perm)} axes, and the input has {len(shape)}"
            )
        return self.perm

    cases = (case(data=(2, 3, 4)), case({"perm": (1, 2, 0)}, data=(2, 3, 4)), case(data=(3,)))


def _from_the_front(perm: tuple[int, ...]) -> Ints:
    """The same order with axes counted from the front, as ONNX has them; None for that of a scalar."""
    rank = len(perm)
    order = tuple(axis + rank if axis < 0 else axis for axis in perm)
    if sorted(order) != list(range(rank)):
        raise Deep500Error(
            f"perm of Transpose is {perm}, which is no order of {rank} axes: name each from 0 to "
            f"{rank - 1} once"
        )
    return order or None
