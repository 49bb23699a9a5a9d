from ..contracts.operator import case
from ._elementwise import Elementwise


class Elu(Elementwise):
    """x where x is positive, alpha * (exp(x) - 1) elsewhere."""

    cost = 3
    alpha: float = 1.0

    def forward(self, xp, x):
        return xp.where(x > 0, x, self.alpha * xp.expm1(xp.minimum(x, 0)))

    def backward(self, xp, dy, x):
        return xp.where(x > 0, dy, self.alpha * dy * xp.exp(xp.minimum(x, 0)))

    def pytorch(self, torch, x):
        return torch.nn.functional.elu(x, self.alpha)

    def jax(self, jax, x):
        return jax.nn.elu(x, self.alpha)

    cases = (case(x=(3, 4)), case({"alpha": 0.3}, x=[-100.0, -1e-4, 100.0]))
