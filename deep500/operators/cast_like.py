from typing import Literal

from ..contracts.dtypes import name_of
from ..contracts.operator import Operator, TensorSpec, case
from ._dtypes import converted


class CastLike(Operator):
    """x in the dtype of another value."""

    since = 15
    saturate: int = 1
    round_mode: Literal["up", "down", "nearest"] = "up"

    def forward(self, xp, x, like):
        return converted(xp, x, name_of(like.dtype), self.saturate, self.round_mode)

    def backward(self, xp, dy, x):
        return xp.astype(dy, x.dtype)

    def infer(self, x, like):
        return (TensorSpec(x.shape, like.dtype),)

    def bytes_moved(self, x, like):
        return x.nbytes + self.infer(x, like)[0].nbytes  # nothing of the other value is read

    cases = (
        case(x=(3, 4), like=(2,)),
        case(x=[-2.7, 0.0, 1.9], like=[1]),
        case(x=[True, False], like=[1.0]),
    )
