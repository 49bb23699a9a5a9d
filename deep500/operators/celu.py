from ..contracts.operator import case
from ._elementwise import Elementwise


class Celu(Elementwise):
    """x where x is positive, alpha * (exp(x / alpha) - 1) elsewhere."""

    since = 12
    cost = 4
    alpha: float = 1.0

    def forward(self, xp, x):
        return xp.where(x > 0, x, self.alpha * xp.expm1(xp.minimum(x, 0) / self.alpha))

    def backward(self, xp, dy, x):
        return xp.where(x > 0, dy, dy * xp.exp(xp.minimum(x, 0) / self.alpha))

    def pytorch(self, torch, x):
        return torch.celu(x, self.alpha)  # its derivative takes 1 / alpha in float32, whatever x is

    def jax(self, jax, x):
        return jax.nn.celu(x, self.alpha)

    cases = (case(x=(3, 4)), case({"alpha": 0.5}, x=[-100.0, -1e-4, 100.0]))
