from ..contracts.operator import Operator, case
from ._drawing import kind, like


class Bernoulli(Operator):
    """1 with probability x, else 0."""

    since = 15
    dtype: int | None = None
    seed: float | None = None

    def forward(self, xp, x, *, key):  # type: ignore[override]
        drawn = xp.astype(xp.uniform(key, x.shape), "float64") < xp.astype(x, "float64")
        return xp.astype(drawn, kind(self.dtype, x.dtype))

    def infer(self, x):
        return like(x, self.dtype)

    cases = (
        case(x=[[0.0, 0.25, 0.5], [0.75, 0.9, 1.0]]),
        case({"dtype": 7, "seed": 2.0}, x=[0.1, 0.3, 0.5, 0.7, 0.9]),
        case({"dtype": 9}, x=[0.5, 0.5, 0.5, 0.5]),
    )
