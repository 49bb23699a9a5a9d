from ..contracts.operator import case
from ._elementwise import Elementwise


class LeakyRelu(Elementwise):
    """x where x is positive, alpha * x elsewhere."""

    cost = 2
    alpha: float = 0.01

    def forward(self, xp, x):
        return xp.where(x > 0, x, self.alpha * x)

    def backward(self, xp, dy, x):
        return xp.where(x > 0, dy, self.alpha * dy)

    def pytorch(self, torch, x):
        return torch.nn.functional.leaky_relu(x, self.alpha)

    def jax(self, jax, x):
        return jax.nn.leaky_relu(x, self.alpha)

    cases = (case(x=(3, 4)), case({"alpha": 0.3}, x=()))
