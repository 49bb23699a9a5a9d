"""Windows for the frames of a signal that are made of a few cosines."""

import math
from typing import ClassVar

from ..contracts.operator import Operator, TensorSpec
from ._dtypes import dtype_of


class CosineWindow(Operator):
    """A polynomial in sin²(π n / N) for n < size; N is the size if the window is periodic, else one less.

    1 - cos(2 a) is 2 sin²(a), which is exact where the window comes down to 0.
    """

    since = 17
    output_datatype: int = 1
    periodic: int = 1
    coefficients: ClassVar[tuple[float, ...]]

    def forward(self, xp, size: int):  # type: ignore[no-untyped-def]
        length = size if self.periodic else size - 1
        squares = [
            math.sin(math.pi * min(n, length - n) / max(length, 1)) ** 2 for n in range(size)
        ]
        values = [sum(c * s**k for k, c in enumerate(self.coefficients)) for s in squares]
        return xp.asarray(values, dtype_of(self.output_datatype))

    def infer(self, size):
        return (TensorSpec((size,), dtype_of(self.output_datatype)),)

    def flops(self, size):
        return 2 * size * len(self.coefficients)
