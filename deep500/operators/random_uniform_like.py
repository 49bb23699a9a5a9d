from ..contracts.operator import Operator, case
from ._drawing import kind, like, uniform


class RandomUniformLike(Operator):
    """Random numbers, uniform between low and high, in the shape of x."""

    dtype: int | None = None
    high: float = 1.0
    low: float = 0.0
    seed: float | None = None

    def forward(self, xp, x, *, key):  # type: ignore[override]
        return xp.astype(uniform(xp, key, x.shape, self.low, self.high), kind(self.dtype, x.dtype))

    def infer(self, x):
        return like(x, self.dtype)

    cases = (case(x=(3, 4)), case({"dtype": 11, "low": -1.0, "seed": 3.0}, x=(2, 1, 3)))
