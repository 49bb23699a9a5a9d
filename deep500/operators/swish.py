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

    def native(self, framework):
        return super().native(framework) if self.alpha == 1 else None

    def pytorch(self, torch, x):
        return torch.nn.functional.silu(x)

    def jax(self, jax, x):
        return jax.nn.silu(x)

    def tensorflow(self, tf, x):
        return tf.nn.silu(x)

    cases = (case(x=(3, 4)), case({"alpha": 2.0}, x=(3, 4)))
