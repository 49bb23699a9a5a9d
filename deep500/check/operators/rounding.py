"""Float64 arithmetic in which every result is off at random, by up to a unit of rounding of another dtype.

It shows, element by element, what rounding inside a formula does: where results cancel it is much, elsewhere little.
Numbers of few bits (5, -0.5) stay as they are: what computes with them is exact in every dtype, ties of rounding too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .examples import XP, seed_of
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


# Every library rounds these right; others (exp, erf, power) are off by some units.
ARITHMETIC = {
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.sqrt,
    np.square,
    np.reciprocal,
    np.matmul,
}
ELEMENTARY = 4  # units: what fast vector libraries promise (SLEEF, SVML, libmvec)
INSIDE = "inside"  # the stream of errors inside of code without a formula


class Rounded(np.ndarray):
    """An array whose operations leave an error behind; `noise` makes it.

    Numbers that leave it, as `float(x[i])` does, carry no errors any more: then `noise.leaked` is set.
    """

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
        self.noise.seen = True
        if "out" in options:
            options["out"] = tuple(map(_plain, options["out"]))
        # outside of its domain there is no result
        with np.errstate(all="ignore"):
            results = getattr(function, method)(*plain_inputs, **options)
        if function in EXACT or results is None:
            return self.noise.keep(results)
        units = 1 if function in ARITHMETIC else self.noise.elementary
        if "out" not in options:
            return self.noise.spoil(results, units)
        for y in options["out"]:  # a += b: the error goes where the result is
            y *= self.noise.factor(y, units)
        if isinstance(inputs[0], Rounded):
            return inputs[0]
        return self.noise.keep(results)

    def __array_function__(
        self, function: Any, types: Any, args: Any, options: Any
    ) -> Any:
        result = super().__array_function__(function, types, args, options)
        return self.noise.keep(result)  # np.where returns plain arrays

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        if isinstance(part, np.generic):
            self.noise.leaked = True
        return part

    def __float__(self) -> float:
        self.noise.leaked = True
        return super().__float__()

    def item(self, *place: Any) -> Any:
        self.noise.leaked = True
        return super().item(*place)

    def tolist(self) -> Any:
        self.noise.leaked = True
        return super().tolist()


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
        # the quickest one there is, as most of the time of a check goes here
        seed = seed_of(stream, number)
        self.draw = np.random.Generator(np.random.SFC64(seed))
        self.eps = form.eps
        self.few = form.fraction // 4
        self.elementary = ELEMENTARY if stream == INSIDE else 1
        self.seen = False  # whether an operation was given errors
        self.leaked = False  # whether numbers went where none are made

    def factor(self, y: Any, units: int = 1) -> Any:
        """What to multiply y by: 1 plus an error of up to so many units, which is 0 for numbers of few bits."""
        factors = np.asarray(self.draw.random(np.shape(y)))
        factors -= 0.5
        factors *= 2 * units * self.eps
        factors *= _has_more_bits(y, self.few)
        factors += 1
        return factors

    def spoil(self, result: Any, units: int = 1) -> Any:
        """The result, or a tuple of them, with an error in every float."""
        if isinstance(result, tuple):
            return tuple([self.spoil(part, units) for part in result])
        y = np.asarray(result)
        if not is_float(y):
            self.leaked = self.leaked or y.dtype == object
            return result
        return self.keep(y * self.factor(y, units))

    def has_made(self, results: Any) -> bool:
        """Whether all of these came out of operations that it gave errors, or are no floats."""
        return all(
            isinstance(y, Rounded) or not is_float(np.asarray(y)) for y in results
        )

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


def _has_more_bits(y: Any, few: int) -> Array:
    """Whether the significands of floats have more than a few bits, the leading one included."""
    bits = np.asarray(y, "float64").view(np.int64)
    hidden_bits = FORMATS["float64"].fraction + 1 - few
    return bits & ((1 << hidden_bits) - 1) != 0


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
