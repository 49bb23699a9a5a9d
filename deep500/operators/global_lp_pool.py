from ..contracts.operator import Operator, TensorSpec, case
from ._norms import norm, norm_gradient


class GlobalLpPool(Operator):
    """The p-norm of every channel."""

    since = 2
    p: int = 2

    def forward(self, xp, x):
        return norm(xp, x, self.p, tuple(range(2, x.ndim)))

    def backward(self, xp, dy, x, y):
        return norm_gradient(xp, dy, x, y, self.p)

    def infer(self, x):
        return (TensorSpec((*x.shape[:2], *[1] * (len(x.shape) - 2)), x.dtype),)

    def flops(self, x):
        return 2 * x.size

    cases = (case(x=(2, 3, 4, 5)), case({"p": 1}, x=(1, 2, 6)), case({"p": 3}, x=(1, 2, 2, 2)))
