from ..contracts.operator import Operator, TensorSpec, case
from ..namespace import count


class GlobalAveragePool(Operator):
    """The mean of every channel."""

    def forward(self, xp, x):
        return xp.mean(x, axis=tuple(range(2, x.ndim)), keepdims=True)

    def backward(self, xp, dy, x):
        return xp.broadcast_to(dy / count(x.shape, range(2, x.ndim)), x.shape)

    def pytorch(self, torch, x):
        return torch.mean(x, tuple(range(2, x.ndim)), True)

    def infer(self, x):
        return (TensorSpec((*x.shape[:2], *[1] * (len(x.shape) - 2)), x.dtype),)

    def flops(self, x):
        return x.size

    cases = (case(x=(2, 3, 4, 5)), case(x=(1, 2, 6)), case(x=(1, 1, 1, 1)))
