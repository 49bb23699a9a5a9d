"""Float64 arithmetic in which every result is off at random, by up to a unit of rounding of another dtype.

It shows, element by element, what rounding inside a formula does: where results cancel it is much, elsewhere little.
Numbers of few bits (5, -0.5) stay as they are: what computes with them is exact in every dtype, ties of rounding too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .examples import XP, generator
from .formats import FORMATS, Array, is_float

EXACT = {
    np.negative,
    np.positive,
    np.absolute,
    np.sign,
    np.floor,
    np.ceil,
    np.rint,
    np.trunc,
    np.maximum,
    np.minimum,
    np.fmod,
    np.copysign,
}


class Rounded(np.ndarray):
    """An array whose operations leave an error behind; `noise` makes it."""

    noise: "PerturbedRun"

    def __array_finalize__(self, source: Any) -> None:
        if isinstance(source, Rounded):
            self.noise = source.noise

    def __array_ufunc__(  # type: ignore[override]
        self,
        function: np.ufunc,
        method: str,
        *inputs: Any,
        **options: Any,
    ) -> Any:
        plain_inputs = map(_plain, inputs)
        if "out" in options:
            options["out"] = tuple(map(_plain, options["out"]))
        # outside of its domain there is no result
        with np.errstate(all="ignore"):
            results = getattr(function, method)(*plain_inputs, **options)
        if function in EXACT or results is None:
            return self.noise.keep(results)
        if "out" not in options:
            return self.noise.spoil(results)
        for y in options["out"]:  # a += b: the error goes where the result is
            y *= self.noise.factor(y)
        if isinstance(inputs[0], Rounded):
            return inputs[0]
        return self.noise.keep(results)


def _plain(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, Rounded) else value


class PerturbedRun:
    """The errors of one run, by its number: relative ones of up to a unit of rounding of this dtype.

    Those of the inputs and those inside of the code are drawn from two streams.
    """

    def __init__(self, number: int, dtype: str, stream: str = "moved") -> None:
        form = FORMATS[dtype]
        self.number = number
        self.dtype = dtype
        self.draw = generator(stream, number)
        self.eps = form.eps
        self.few = 2.0 ** (form.fraction // 4)

    def factor(self, y: Any) -> Any:
        """What to multiply y by: 1 plus an error, which is 0 for numbers of few bits."""
        with np.errstate(invalid="ignore"):
            mantissa, _ = np.frexp(y)
            has_many_bits = mantissa * self.few % 1 != 0
        errors = self.draw.uniform(-1, 1, np.shape(y))
        return 1 + self.eps * errors * has_many_bits

    def spoil(self, result: Any) -> Any:
        """The result, or a tuple of them, with an error in every float."""
        if isinstance(result, tuple):
            return tuple(map(self.spoil, result))
        y = np.asarray(result)
        if not is_float(y):
            return result
        return self.keep(y * self.factor(y))

    def constant(self, coefficients: Array) -> Array:
        """The coefficients, off by up to eps of the largest: some are differences, as those of an interpolation."""
        largest = np.max(np.abs(coefficients), initial=0)
        errors = self.draw.uniform(-1, 1, coefficients.shape)
        return coefficients + self.eps * largest * errors

    def keep(self, result: Any) -> Any:
        """The result of a function, with its floats as arrays whose operations leave an error behind."""
        if isinstance(result, tuple | list):
            return type(result)(map(self.keep, result))
        if not isinstance(result, np.ndarray | np.generic):
            return result
        array = np.asarray(result)
        if not is_float(array):
            return result
        rounded = array.view(Rounded)
        rounded.noise = self
        return rounded


class RoundedNamespace(type(XP)):  # type: ignore[misc]
    """The namespace for formulas over such arrays: NumPy's functions do not all keep their kind."""

    def __init__(self, noise: PerturbedRun) -> None:
        self._noise = noise

    def asarray(self, value: Any, dtype: Any = None) -> Any:
        array = np.asarray(value, dtype)
        are_coefficients = is_float(array) and array.size > 1
        if not are_coefficients or isinstance(value, Rounded):
            return array
        if not np.any(array % 1):  # whole numbers are indices
            return array
        return self._noise.constant(array)

    def __getattribute__(self, name: str) -> Any:
        attribute = super().__getattribute__(name)
        if name.startswith("_") or not callable(attribute):
            return attribute
        return _keeping(attribute, self._noise)


def _keeping(function: Callable, noise: PerturbedRun) -> Callable:
    return lambda *values, **options: noise.keep(function(*values, **options))
