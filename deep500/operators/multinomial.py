from ..contracts.operator import Operator, TensorSpec, case
from ..contracts.setting_ranges import Count
from ._drawing import kind


class Multinomial(Operator):
    """Classes drawn by the unnormalised log-probabilities in the rows of x, `sample_size` for every row."""

    since = 7
    dtype: int = 6
    sample_size: Count = 1
    seed: float | None = None

    def forward(self, xp, x, *, key):  # type: ignore[override]
        share = xp.exp(x - xp.max(x, axis=1, keepdims=True))
        ends = xp.cumulative_sum(xp.astype(share, "float64"), axis=1)
        drawn = xp.astype(xp.uniform(key, (x.shape[0], self.sample_size)), "float64") * ends[:, -1:]
        # not >, so that a class of probability 0 is never drawn
        passed = xp.expand_dims(drawn, 2) >= xp.expand_dims(ends, 1)
        return xp.astype(xp.sum(xp.astype(passed, "int64"), axis=2), kind(self.dtype))

    def infer(self, x):
        return (TensorSpec((x.shape[0], self.sample_size), kind(self.dtype)),)

    def flops(self, x):
        return (4 + self.sample_size) * x.size

    cases = (
        case(x=(3, 4)),
        case(
            {"sample_size": 6, "dtype": 7, "seed": 2.0},
            x=[[0.0, -1000.0, 1.0], [1000.0, 0.0, 999.0]],
        ),
    )
