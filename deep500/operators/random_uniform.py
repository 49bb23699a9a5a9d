from ..contracts.operator import Operator, TensorSpec, case
from ._drawing import kind, uniform


class RandomUniform(Operator):
    """Random numbers, uniform between low and high."""

    shape: tuple[int, ...]
    dtype: int = 1
    high: float = 1.0
    low: float = 0.0
    seed: float | None = None

    def forward(self, xp, *, key):  # type: ignore[override]
        return xp.astype(uniform(xp, key, self.shape, self.low, self.high), kind(self.dtype))

    def infer(self):
        return (TensorSpec(tuple(self.shape), kind(self.dtype)),)

    cases = (
        case({"shape": (3, 4), "seed": 1.5}),
        case({"shape": (5,), "dtype": 11, "low": -2.0, "high": 3.0}),
        case({"shape": ()}),
    )
