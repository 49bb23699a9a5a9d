"""Nodes that round: what low precision adds to a network."""

from ..contracts.operator import Operator
from ..namespace import Array, Namespace
from ._rounding import format_named, rounded

DOMAIN = "deep500"
TERNARY_THRESHOLD = 0.7  # of the mean size, as Li, Zhang and Liu (2016) derive it


class RoundToFormat(Operator):
    """x as a narrower format has it; its gradient goes straight through."""

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
    """x itself; its gradient as a narrower format has it."""

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
    """x rounded up or down by chance to a narrower format, with x as its mean; its gradient goes straight through."""

    domain = DOMAIN
    format: str
    seed: int | None = None
    rounds = False

    def forward(self, xp: Namespace, x, *, key):  # type: ignore[no-untyped-def, override]
        return rounded(xp, x, format_named(self.format), xp.uniform(key, x.shape))

    def backward(self, xp: Namespace, dy):  # type: ignore[no-untyped-def]
        return dy

    def infer(self, x):
        return (x,)


class Ternary(Operator):
    """-a, 0 or a for every weight; its gradient goes straight through to the weight that is kept in float32."""

    domain = DOMAIN
    rounds = False

    def forward(self, xp: Namespace, w):  # type: ignore[no-untyped-def]
        return ternary(xp, w)

    def backward(self, xp: Namespace, dy):  # type: ignore[no-untyped-def]
        return dy

    def infer(self, w):
        return (w,)


def ternary(xp: Namespace, w: Array) -> Array:
    """0 for what is smaller than 0.7 of the mean size, and the mean size of the others with their sign."""
    size = xp.abs(w)
    kept = size > TERNARY_THRESHOLD * xp.mean(size)
    count = xp.maximum(xp.sum(xp.astype(kept, w.dtype)), 1)
    level = xp.sum(xp.where(kept, size, 0)) / count
    return xp.where(kept, xp.sign(w) * level, xp.zeros_like(w))
