from ..contracts.operator import (
    Operator,
    TensorSpec,
    broadcast_shapes,
    case,
)


class Expand(Operator):
    """x broadcast together with a shape, in which 1 keeps an axis."""

    since = 8

    def forward(self, xp, x, shape: tuple[int, ...]):  # type: ignore[no-untyped-def]
        return xp.broadcast_to(x, broadcast_shapes([tuple(x.shape), shape]))

    def backward(self, xp, dy):
        return dy

    def pytorch(self, torch, x, shape):
        return torch.broadcast_to(x, broadcast_shapes([tuple(x.shape), shape]))

    def infer(self, x, shape):
        return (TensorSpec(broadcast_shapes([x.shape, shape]), x.dtype),)

    def flops(self, x, shape):
        return 0

    cases = (case(x=(3, 1), shape=[2, 1, 4]), case(x=(2, 3), shape=[1]), case(x=(), shape=[2, 2]))
