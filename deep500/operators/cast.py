from typing import Literal

from ..contracts.dtypes import PLAIN
from ..contracts.operator import Operator, TensorSpec, case
from ._dtypes import converted, dtype_of


class Cast(Operator):
    """x in another dtype: whole numbers by leaving out the fraction, booleans by whether x is not 0."""

    since = 6
    to: int
    saturate: int = 1
    round_mode: Literal["up", "down", "nearest"] = "up"

    def forward(self, xp, x):
        return converted(xp, x, dtype_of(self.to), self.saturate, self.round_mode)

    def backward(self, xp, dy, x):
        return xp.astype(dy, x.dtype)

    def pytorch(self, torch, x):
        return x.to(getattr(torch, dtype_of(self.to)))

    def jax(self, jax, x):
        return x.astype(dtype_of(self.to))

    def tensorflow(self, tf, x):
        packed = x.dtype.name in ("int4", "uint4")  # which become nothing else than int32
        return tf.cast(tf.cast(x, "int32") if packed else x, dtype_of(self.to))

    def native(self, framework):
        # PyTorch does not saturate when it casts to small types
        return super().native(framework) if dtype_of(self.to) in PLAIN else None

    def infer(self, x):
        return (TensorSpec(x.shape, dtype_of(self.to)),)

    cases = (
        case({"to": 11}, x=(3, 4)),
        case({"to": 7}, x=[-2.7, -0.2, 0.0, 1.9]),
        case({"to": 9}, x=[-2.7, 0.0, 0.3]),
        case({"to": 1}, x=[True, False]),
        case({"to": 2}, x=TensorSpec((5,), "int32")),
    )
