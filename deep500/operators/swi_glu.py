from ..contracts.operator import case
from ._elementwise import Elementwise


class SwiGLU(Elementwise):
    """b times the Swish of its gate a, which is a times the sigmoid of alpha * a."""

    since = 28
    cost = 6
    alpha: float = 1.0

    def forward(self, xp, a, b):
        return a * xp.sigmoid(self.alpha * a) * b

    def backward(self, xp, dy, a, b):
        gate = xp.sigmoid(self.alpha * a)
        return dy * b * gate * (1 + self.alpha * a * (1 - gate)), dy * a * gate

    cases = (case(a=(3, 4), b=(3, 4)), case({"alpha": 2.0}, a=(5,), b=(5,)))
