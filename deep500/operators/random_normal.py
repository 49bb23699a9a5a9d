from ..contracts.operator import Operator, TensorSpec, case
from ._drawing import kind, normal


class RandomNormal(Operator):
    """Random numbers, normally distributed around the mean with standard deviation `scale`."""

    shape: tuple[int, ...]
    dtype: int = 1
    mean: float = 0.0
    scale: float = 1.0
    seed: float | None = None

    def forward(self, xp, *, key):  # type: ignore[override]
        return xp.astype(self.mean + self.scale * normal(xp, key, self.shape), kind(self.dtype))

    def infer(self):
        return (TensorSpec(tuple(self.shape), kind(self.dtype)),)

    def flops(self):
        return 7 * self.infer()[0].size

    cases = (
        case({"shape": (3, 4), "seed": 1.5}),
        case({"shape": (5,), "dtype": 11, "mean": 3.0, "scale": 0.5}),
        case({"shape": ()}),
    )
