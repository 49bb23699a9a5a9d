from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, case
from ._norms import norm


class LpNormalization(Operator):
    """x divided by its p-norm along one axis; 0 where that is 0."""

    axis_range = of_first_input
    axis: int = -1
    p: int = 2

    def forward(self, xp, x):
        return x / self._divisor(xp, x)

    def backward(self, xp, dy, x, y):
        along = xp.sum(dy * y, axis=self.axis, keepdims=True)
        return (dy - along * (y if self.p == 2 else xp.sign(x))) / self._divisor(xp, x)

    def pytorch(self, torch, x):
        return torch.nn.functional.normalize(x, self.p, self.axis, eps=torch.finfo(x.dtype).tiny)

    def infer(self, x):
        return (x,)

    def flops(self, x):
        return 3 * x.size

    def _divisor(self, xp, x):
        size = norm(xp, x, self.p, self.axis)
        return xp.where(size == 0, xp.ones_like(size), size)

    cases = (
        case(x=(3, 4)),
        case({"p": 1, "axis": 1}, x=(2, 3, 4)),
        case({"axis": 0}, x=[[3.0, 0.2], [4.0, -0.1]]),
        case({"p": 1}, x=[[0.5, -0.25, 2.0], [1.0, 3.0, -1.0]]),
    )
