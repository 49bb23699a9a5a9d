from ..contracts.operator import case
from ._elementwise import Flat


class Round(Flat):
    """The nearest whole number; the even one of two that are equally near."""

    since = 11

    def forward(self, xp, x):
        low = xp.floor(x)
        rest, odd = x - low, low - 2 * xp.floor(low / 2)
        return low + xp.where(rest == 0.5, odd, xp.astype(rest > 0.5, x.dtype))

    def pytorch(self, torch, x):
        return torch.round(x)

    def jax(self, jax, x):
        return jax.numpy.round(x)

    cases = (case(x=(3, 4)), case(x=[-2.6, -2.4, 0.7, 1.2, 8388609.0]))
