from ..contracts.operator import case
from ._elementwise import Flat


class Floor(Flat):
    """The largest whole number that is not above x."""

    def forward(self, xp, x):
        return xp.floor(x)

    def pytorch(self, torch, x):
        return torch.floor(x)

    def jax(self, jax, x):
        return jax.numpy.floor(x)

    cases = (case(x=(3, 4)),)
