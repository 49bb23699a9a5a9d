import math

from ..contracts.operator import case
from ._elementwise import Predicate


class IsInf(Predicate):
    """Where x is infinite, in the directions that are asked for."""

    since = 10
    detect_negative: int = 1
    detect_positive: int = 1

    def forward(self, xp, x):
        if self.detect_positive and self.detect_negative:
            return xp.abs(x) == math.inf
        if self.detect_positive or self.detect_negative:
            return x == (math.inf if self.detect_positive else -math.inf)
        return xp.full(x.shape, False, "bool")

    def native(self, framework):
        both, one = (
            self.detect_positive and self.detect_negative,
            self.detect_positive or self.detect_negative,
        )
        return super().native(framework) if both or (one and framework != "tensorflow") else None

    def pytorch(self, torch, x):
        return getattr(torch, self._name)(x)

    def jax(self, jax, x):
        return getattr(jax.numpy, self._name)(x)

    def tensorflow(self, tf, x):
        return tf.math.is_inf(x)

    @property
    def _name(self):
        return (
            "isinf"
            if self.detect_positive and self.detect_negative
            else ("isposinf" if self.detect_positive else "isneginf")
        )

    cases = (
        case(x=[1.0, math.inf, -math.inf, math.nan]),
        case({"detect_negative": 0}, x=[1.0, math.inf, -math.inf, math.nan]),
        case({"detect_positive": 0}, x=[1.0, math.inf, -math.inf, math.nan]),
    )
