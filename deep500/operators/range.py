import math

from ..contracts.operator import Operator, Tensor, case


class Range(Operator):
    """The numbers from start on, delta apart, that do not reach limit: int64, or float32 if one of them is a float."""

    since = 11

    def forward(self, xp, start: float, limit: float, delta: float):  # type: ignore[no-untyped-def]
        made, = self.infer(start, limit, delta)
        return xp.arange(made.size, made.dtype) * delta + start

    def infer(self, start, limit, delta):
        whole = all(isinstance(value, int) for value in (start, limit, delta))
        return (Tensor((max(0, math.ceil((limit - start) / delta)),), "int64" if whole else "float32"),)

    cases = (
        case(start=3, limit=9, delta=3),
        case(start=10, limit=4, delta=-4),
        case(start=1.0, limit=2.0, delta=0.25),
        case(start=2, limit=2, delta=1),
    )
