from ..contracts.operator import Operator, case
from ._drawing import kind, like, normal


class RandomNormalLike(Operator):
    """Random numbers, normally distributed around the mean with standard deviation `scale`, in the shape of x."""

    dtype: int | None = None
    mean: float = 0.0
    scale: float = 1.0
    seed: float | None = None

    def forward(self, xp, x, *, key):  # type: ignore[override]
        return xp.astype(
            self.mean + self.scale * normal(xp, key, x.shape), kind(self.dtype, x.dtype)
        )

    def infer(self, x):
        return like(x, self.dtype)

    def flops(self, x):
        return 7 * x.size

    cases = (
        case(x=(3, 4)),
        case({"dtype": 11, "mean": -1.0, "scale": 2.0, "seed": 3.0}, x=(2, 1, 3)),
    )
