from ..contracts.operator import (
    Operator,
    TensorSpec,
    broadcast_shapes,
    case,
)


class Where(Operator):
    """a where the condition holds, b elsewhere, broadcast together."""

    since = 9

    def forward(self, xp, condition, a, b):
        return xp.where(condition, a, b)

    def backward(self, xp, dy, condition):
        zero = xp.zeros_like(dy)
        return None, xp.where(condition, dy, zero), xp.where(condition, zero, dy)

    def pytorch(self, torch, condition, a, b):
        return torch.where(condition, a, b)

    def jax(self, jax, condition, a, b):
        return jax.numpy.where(condition, a, b)

    def tensorflow(self, tf, condition, a, b):
        return tf.where(condition, a, b)

    def infer(self, condition, a, b):
        return (TensorSpec(broadcast_shapes([condition.shape, a.shape, b.shape]), a.dtype),)

    cases = (
        case(condition=[[True], [False]], a=(2, 3), b=(3,)),
        case(condition=[True, False, True], a=(), b=(2, 1)),
        case(condition=[True, False], a=[1, 2], b=[3, 4]),
    )
