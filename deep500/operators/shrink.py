from ..contracts.operator import case
from ._elementwise import Elementwise


class Shrink(Elementwise):
    """x moved towards 0 by the bias where it is further from 0 than lambd, 0 elsewhere."""

    since = 9
    cost = 3
    bias: float = 0.0
    lambd: float = 0.5

    def forward(self, xp, x):
        zero = xp.zeros_like(x)
        return xp.where(
            x > self.lambd, x - self.bias, xp.where(x < -self.lambd, x + self.bias, zero)
        )

    def backward(self, xp, dy, x):
        return xp.where(xp.abs(x) > self.lambd, dy, xp.zeros_like(dy))

    def native(self, framework):
        return super().native(framework) if self.bias in (0, self.lambd) else None

    def pytorch(self, torch, x):
        functional = torch.nn.functional
        return (functional.softshrink if self.bias else functional.hardshrink)(x, self.lambd)

    cases = (
        case(x=(3, 4)),
        case({"bias": 0.3, "lambd": 0.8}, x=(3, 4)),
        case({"bias": 0.5}, x=(5,)),
    )
