from ..contracts.operator import case
from ._elementwise import Elementwise


class Selu(Elementwise):
    """Elu scaled so that mean 0 and deviation 1 persist from layer to layer."""

    since = 6
    cost = 4
    alpha: float = 1.67326319217681884765625
    gamma: float = 1.05070102214813232421875

    def forward(self, xp, x):
        return self.gamma * xp.where(x > 0, x, self.alpha * xp.expm1(xp.minimum(x, 0)))

    def backward(self, xp, dy, x):
        return self.gamma * xp.where(x > 0, dy, self.alpha * dy * xp.exp(xp.minimum(x, 0)))

    def pytorch(self, torch, x):
        # not torch.selu, whose constants have other digits
        return self.gamma * torch.nn.functional.elu(x, self.alpha)

    cases = (case(x=(3, 4)), case({"alpha": 0.3, "gamma": 2.0}, x=[-100.0, -1e-4, 100.0]))
