"""Operators that round: the nodes that a low precision adds to a network."""

from ..contracts.operator import Operator
from ..namespace import Array, Namespace
from ._rounding import format_named, rounded

DOMAIN = "deep500"
# times the mean size, as Li, Zhang and Liu (2016) derive it
TERNARY_THRESHOLD = 0.7


class RoundToFormat(Operator):
    """x rounded to a narrower format; its gradient passes unchanged."""

    domain = DOMAIN
    format: str
    rounds = False

    def forward(self, xp: Namespace, x):  # type: ignore[no-untyped-def]
        return rounded(xp, x, format_named(self.format))

    def backward(self, xp: Namespace, dy):  # type: ignore[no-untyped-def]
        return dy

    def infer(self, x):
        return (x,)


class RoundGradient(Operator):
    """x itself; its gradient is rounded to a narrower format."""

    domain = DOMAIN
    format: str
    rounds = False

    def forward(self, xp: Namespace, x):  # type: ignore[no-untyped-def]
        return x * 1.0

    def backward(self, xp: Namespace, dy):  # type: ignore[no-untyped-def]
        return rounded(xp, dy, format_named(self.format))

    def infer(self, x):
        return (x,)


class RoundStochastically(Operator):
    """x rounded at random up or down to a narrower format, with x as its mean; its gradient passes unchanged."""

    domain = DOMAIN
    format: str
    seed: int | None = None
    rounds = False

    def forward(self, xp: Namespace, x, *, key):  # type: ignore[no-untyped-def, override]
        target = format_named(self.format)
        return rounded(xp, x, target, xp.uniform(key, x.shape))

    def backward(self, xp: Namespace, dy):  # type: ignore[no-untyped-def]
        return dy

    def infer(self, x):
        return (x,)


class Ternary(Operator):
    """-a, 0 or a for every weight; its gradient passes unchanged to the weight, which is stored in float32."""

    domain = DOMAIN
    rounds = False

    def forward(self, xp: Namespace, w):  # type: ignore[no-untyped-def]
        return ternary(xp, w)

    def backward(self, xp: Namespace, dy):  # type: ignore[no-untyped-def]
        return dy

    def infer(self, w):
        return (w,)


def ternary(xp: Namespace, w: Array) -> Array:
    """Return 0 for weights smaller than 0.7 of the mean size, and the mean size of the others with their sign."""
    size = xp.abs(w)
    is_large = size > TERNARY_THRESHOLD * xp.mean(size)
    count = xp.sum(xp.astype(is_large, w.dtype))
    divisor = xp.maximum(count, 1)
    level = xp.sum(xp.where(is_large, size, 0)) / divisor
    signed = xp.sign(w) * level
    return xp.where(is_large, signed, xp.zeros_like(w))
