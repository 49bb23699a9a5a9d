from ..contracts.operator import (
    Ints,
    Operator,
    Tensor,
    case,
)


class Transpose(Operator):
    """The axes in the order of `perm`, or reversed."""

    perm: Ints = None

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
        return (Tensor(tuple(data.shape[axis] for axis in self._order(data.shape)), data.dtype),)

    def flops(self, data):
        return 0

    def _order(self, shape):
        return self.perm if self.perm is not None else tuple(reversed(range(len(shape))))

    cases = (case(data=(2, 3, 4)), case({"perm": (1, 2, 0)}, data=(2, 3, 4)), case(data=(3,)))
