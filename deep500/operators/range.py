import math

import numpy as np

from ..contracts.operator import Operator, TensorSpec, case
from ._dtypes import dtype_of

Number = float | np.generic


class Range(Operator):
    """The numbers from start on, delta apart, that do not reach limit.

    Their dtype is that of start where it is one of NumPy's scalars; of Python's numbers it is int64, or float32 if
    one of them is a float. Half precision counts in the dtype `stash_type`.
    """

    since = 11
    stash_type: int = 1

    def forward(self, xp, start: Number, limit: Number, delta: Number):  # type: ignore[no-untyped-def]
        (made,) = self.infer(start, limit, delta)
        wide = dtype_of(self.stash_type) if made.dtype in ("float16", "bfloat16") else made.dtype
        first, step = _number(start), _number(delta)
        return xp.astype(xp.arange(made.size, wide) * step + first, made.dtype)

    def infer(self, start, limit, delta):
        first, last, step = map(_number, (start, limit, delta))
        whole = all(isinstance(value, int) for value in (first, last, step))
        dtype = (
            start.dtype.name
            if isinstance(start, np.generic | np.ndarray)
            else "int64"
            if whole
            else "float32"
        )
        return (TensorSpec((max(0, math.ceil((last - first) / step)),), dtype),)

    cases = (
        case(start=3, limit=9, delta=3),
        case(start=10, limit=4, delta=-4),
        case(start=1.0, limit=2.0, delta=0.25),
        case(start=2, limit=2, delta=1),
        case(start=np.int32(3), limit=np.int32(-2), delta=np.int32(-2)),
    )


def _number(value):
    """A number of Python's own."""
    return (
        value
        if isinstance(value, int | float)
        else int(value)
        if value.dtype.kind in "iu"
        else float(value)
    )
