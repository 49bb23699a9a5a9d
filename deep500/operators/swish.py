from ..contracts.operator import case
from ._elementwise import Elementwise


class Swish(Elementwise):
    """x times the sigmoid of alpha * x."""

    since = 24
    cost = 5
    alpha: float = 1.0

    def forward(self, xp, x):
        return x * xp.sigmoid(self.alpha * x)

    def backward(self, xp, dy, x):
        gate = xp.sigmoid(self.alpha * x)
        return dy * gate * (1 + self.alpha * x * (1 - gate))

    def pytorch(self, torch, x):
        return torch.nn.functional.silu(x) if self.alpha == 1 else x * torch.sigmoid(self.alpha * x)

    cases = (case(x=(3, 4)), case({"alpha": 2.0}, x=(3, 4)))
