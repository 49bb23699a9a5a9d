"""What functions of one argument share: float32 to float64, the function there, and back by one rounding."""

import math
from typing import Any, ClassVar

from ..contracts.operator import Operator
from ..errors import Unsupported
from ..namespace import Array, Namespace
from .arithmetic import Arithmetic


class FixedFunction(Operator):
    """A function of float32 numbers whose bits depend on nothing but the numbers."""

    domain: ClassVar[str] = "deep500"
    # the largest error in units in the last place, over all 2**32 arguments
    bound: ClassVar[float]

    def value(self, arithmetic: Arithmetic, x: Array) -> Array:
        """The function in float64, of anything but NaN."""
        raise NotImplementedError

    def slope(self, arithmetic: Arithmetic, x: Array) -> Array:
        """Its derivative in float64."""
        raise NotImplementedError

    def forward(self, xp, x):
        wide, arithmetic = wide_and_arithmetic(xp, x)
        is_nan = xp.isnan(wide)
        y = self.value(arithmetic, xp.where(is_nan, 0.5, wide))
        return xp.narrow(xp.where(is_nan, math.nan, y))

    def backward(self, xp, dy, x):
        wide, arithmetic = wide_and_arithmetic(xp, x)
        is_nan = xp.isnan(wide)
        slope = self.slope(arithmetic, xp.where(is_nan, 0.5, wide))
        slope = xp.where(is_nan, math.nan, slope)
        return xp.narrow(arithmetic.times(xp.widen(dy), slope))


class OddFunction(FixedFunction):
    """A function with f(-x) = -f(x); -0 stays -0."""

    def positive(self, arithmetic: Arithmetic, x: Array) -> Array:
        """Its value for numbers from 0 on."""
        raise NotImplementedError

    def value(self, arithmetic: Arithmetic, x: Array) -> Array:
        size = self.positive(arithmetic, arithmetic.xp.abs(x))
        return size * arithmetic.xp.unit(x)

    def forward(self, xp, x):
        wide, arithmetic = wide_and_arithmetic(xp, x)
        is_nan = xp.isnan(wide)
        size = self.positive(arithmetic, xp.where(is_nan, 0.5, xp.abs(wide)))
        size = xp.where(is_nan, math.nan, size)
        # last of all: ONNX Runtime's Where makes 0 of -0
        return xp.narrow(size * xp.unit(wide))


def wide_and_arithmetic(xp: Namespace, x: Any) -> tuple[Array, Arithmetic]:
    """A float32 array in float64, and the arithmetic on arrays of its shape."""
    if not str(x.dtype).strip("'>").endswith("float32"):
        raise Unsupported(
            f"the functions of deep500.elementary take float32, not {x.dtype}: cast the array first"
        )
    wide = xp.widen(x)
    return wide, Arithmetic(xp, wide)
