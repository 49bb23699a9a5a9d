"""The floating-point formats by name, and arrays converted between them."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401 - makes NumPy know bfloat16 by its name
import numpy as np

from ...errors import Deep500Error

Array = np.ndarray
Values = Sequence[Any]  # inputs or results: arrays, static values, None
Change = Callable[[Array], Any]


@dataclass(frozen=True)
class NumberFormat:
    """A binary format: bits of the fraction, and exponents of the smallest and largest normal numbers."""

    fraction: int
    lowest: int
    highest: int

    @property
    def eps(self) -> float:
        """The step from 1 to the next number."""
        return 2.0**-self.fraction

    @property
    def tiny(self) -> float:
        """The smallest normal number; kernels may set smaller ones to 0."""
        return 2.0**self.lowest

    @property
    def largest(self) -> float:
        return (2 - self.eps) * 2.0**self.highest

    def spacing(self, values: Array) -> Array:
        """The distance between neighbouring numbers around each value: one unit in the last place."""
        magnitudes = np.abs(np.asarray(values, "float64"))
        _, exponents = np.frexp(np.maximum(magnitudes, self.tiny))
        return np.ldexp(1.0, exponents - 1 - self.fraction)


FORMATS = {
    "float16": NumberFormat(10, -14, 15),
    "bfloat16": NumberFormat(7, -126, 127),
    "float32": NumberFormat(23, -126, 127),
    "float64": NumberFormat(52, -1022, 1023),
}


def checked_dtypes(
    dtypes: Sequence[str] | str, known: Collection[str] = tuple(FORMATS)
) -> list[str]:
    """The dtypes to check in; a single one may be given as a text. Raises a Deep500Error for an unknown one."""
    names = [dtypes] if isinstance(dtypes, str) else list(dtypes)
    for name in names:
        if name not in known:
            choices = ", ".join(known)
            raise Deep500Error(
                f"{name!r} is no dtype to check in: choose from {choices}"
            )
    return names


def is_float(x: Any) -> bool:
    """Whether this is an array in one of the formats above."""
    return isinstance(x, np.ndarray) and x.dtype.name in FORMATS


def largest_magnitude(x: Array) -> float:
    """The largest |x|; 0 for an empty array."""
    return float(np.max(np.abs(x), initial=0))


def largest_finite(x: Array) -> float:
    """The largest |x| among the finite elements; 0 without any."""
    finite = np.isfinite(x)
    return float(np.max(np.abs(x), where=finite, initial=0))


def argmax(x: Array) -> int:
    """The flat index of the largest element; a NaN counts as infinite."""
    ordered = np.where(np.isnan(x), np.inf, x)
    return int(np.argmax(ordered))


def map_arrays(change: Change, values: Values) -> tuple:
    """The values, with every array replaced by what the function returns for it."""
    changed = []
    for value in values:
        if isinstance(value, np.ndarray):
            value = change(value)
        changed.append(value)
    return tuple(changed)


def map_floats(change: Change, values: Values) -> tuple:
    """The values, with every float array replaced by what the function returns for it."""
    changed = []
    for value in values:
        if is_float(value):
            value = change(value)
        changed.append(value)
    return tuple(changed)


def cast(values: Values, dtype: str) -> tuple:
    """New arrays for all arrays: floats in this dtype, others in their own. Other values stay as they are."""
    float_dtype = np.dtype(dtype)

    def converted(x: Array) -> Array:
        if is_float(x):
            return x.astype(float_dtype)
        return x.astype(x.dtype)

    return map_arrays(converted, values)


def wide(values: Values) -> tuple:
    """As `cast` to float64."""
    return cast(values, "float64")
