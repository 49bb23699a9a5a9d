from ..contracts.operator import case
from ._elementwise import Flat


class Ceil(Flat):
    """The smallest whole number that is not below x."""

    def forward(self, xp, x):
        return -xp.floor(-x)

    def pytorch(self, torch, x):
        return torch.ceil(x)

    def jax(self, jax, x):
        return jax.numpy.ceil(x)

    cases = (case(x=(3, 4)),)
