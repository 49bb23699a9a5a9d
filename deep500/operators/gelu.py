import math
from typing import Literal

from ..contracts.operator import case
from ._elementwise import Elementwise

SCALE, CUBE = math.sqrt(2 / math.pi), 0.044715


class Gelu(Elementwise):
    """x times the probability that a normal variate is below x, or its approximation by a tanh."""

    since = 20
    cost = 8
    approximate: Literal["none", "tanh"] = "none"

    def forward(self, xp, x):
        return 0.5 * x * (1 + self._bend(xp, x))

    def backward(self, xp, dy, x):
        bend = self._bend(xp, x)
        if self.approximate == "none":
            slope = SCALE * xp.exp(-0.5 * x * x)
        else:
            slope = (1 - bend * bend) * SCALE * (1 + 3 * CUBE * x * x)
        return 0.5 * dy * (1 + bend + x * slope)

    def pytorch(self, torch, x):
        return torch.nn.functional.gelu(x, approximate=self.approximate)

    def jax(self, jax, x):
        return jax.nn.gelu(x, approximate=self.approximate == "tanh")

    def _bend(self, xp, x):
        """From -1 to 1 as x grows."""
        if self.approximate == "none":
            return xp.erf(x / math.sqrt(2))
        return xp.tanh(SCALE * (x + CUBE * x * x * x))

    cases = (case(x=(3, 4)), case({"approximate": "tanh"}, x=(3, 4)))
