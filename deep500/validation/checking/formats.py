"""The floating-point formats by name, and arrays moved between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401 - makes NumPy know bfloat16 by its name
import numpy as np


@dataclass(frozen=True)
class Format:
    """How a binary format rounds: bits of the fraction, and exponents of the smallest and largest normal numbers."""

    fraction: int
    lowest: int
    highest: int

    @property
    def eps(self) -> float:
        """The step from 1 to the next number."""
        return 2.0**-self.fraction

    @property
    def tiny(self) -> float:
        """The smallest normal number: what is below may be set to 0."""
        return 2.0**self.lowest

    @property
    def largest(self) -> float:
        return (2 - self.eps) * 2.0**self.highest

    def spacing(self, values: np.ndarray) -> np.ndarray:
        """The distance between neighbouring numbers around each value: one unit in the last place."""
        size = np.maximum(np.abs(np.asarray(values, "float64")), self.tiny)
        return np.ldexp(1.0, np.frexp(size)[1] - 1 - self.fraction)


FORMATS = {
    "float16": Format(10, -14, 15),
    "bfloat16": Format(7, -126, 127),
    "float32": Format(23, -126, 127),
    "float64": Format(52, -1022, 1023),
}


def is_float(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.name in FORMATS


def cast(values: Sequence[Any], dtype: str) -> tuple:
    """The float arrays in this dtype, the rest as it is; every array a new one."""
    kind = np.dtype(dtype)
    return tuple(
        x.astype(kind if is_float(x) else x.dtype) if isinstance(x, np.ndarray) else x
        for x in values
    )


def wide(values: Sequence[Any]) -> tuple:
    """The float arrays in float64, the rest as it is."""
    return cast(values, "float64")
