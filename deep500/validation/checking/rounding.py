"""Float64 arithmetic in which every result is off at random, by up to a unit of rounding of another dtype.

It shows, element by element, what rounding inside a formula does: where results cancel it is much, elsewhere little.
Numbers of few bits (5, -0.5) stay as they are: what computes with them is exact in every dtype, ties of rounding too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .examples import XP, generator
from .formats import FORMATS, is_float

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

    noise: "Noise"

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
        plain = [np.asarray(x) if isinstance(x, Rounded) else x for x in inputs]
        if "out" in options:
            options["out"] = tuple(
                np.asarray(y) if isinstance(y, Rounded) else y for y in options["out"]
            )
        with np.errstate(
            all="ignore"
        ):  # moved out of its domain a number has no result
            made = getattr(function, method)(*plain, **options)
        if function in EXACT or made is None:
            return self.noise.keep(made)
        if "out" in options:  # a += b: the error goes where the result is
            for y in options["out"]:
                y *= self.noise.factor(y)
            return (
                inputs[0] if isinstance(inputs[0], Rounded) else self.noise.keep(made)
            )
        return self.noise.spoil(made)


class Noise:
    """The errors of one run, by its number: relative ones of up to a unit of rounding of this dtype."""

    def __init__(self, number: int, dtype: str) -> None:
        self.number, self.dtype, form = number, dtype, FORMATS[dtype]
        self.draw = generator("moved", number)
        self.eps, self.few = form.eps, 2.0 ** (form.fraction // 4)

    def factor(self, y: Any) -> Any:
        with np.errstate(invalid="ignore"):
            long = np.frexp(y)[0] * self.few % 1 != 0
        return 1 + self.eps * self.draw.uniform(-1, 1, np.shape(y)) * long

    def spoil(self, made: Any) -> Any:
        if isinstance(made, tuple):
            return tuple(map(self.spoil, made))
        y = np.asarray(made)
        return self.keep(y * self.factor(y)) if is_float(y) else made

    def constant(self, made: np.ndarray) -> np.ndarray:
        """Coefficients are known to eps of the largest: some are differences, as those of an interpolation."""
        return made + self.eps * np.max(np.abs(made), initial=0) * self.draw.uniform(
            -1, 1, made.shape
        )

    def keep(self, made: Any) -> Any:
        """What a function returned, with its floats as arrays that go on like this."""
        if isinstance(made, tuple | list):
            return type(made)(map(self.keep, made))
        if not isinstance(made, np.ndarray | np.generic) or not is_float(
            np.asarray(made)
        ):
            return made
        found = np.asarray(made).view(Rounded)
        found.noise = self
        return found


class RoundedNamespace(type(XP)):  # type: ignore[misc]
    """The namespace for formulas over such arrays: NumPy's functions do not all keep their kind."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise

    def asarray(self, value: Any, dtype: Any = None) -> Any:
        made = np.asarray(value, dtype)
        several = is_float(made) and made.size > 1 and not isinstance(value, Rounded)
        return (
            self._noise.constant(made) if several and np.any(made % 1) else made
        )  # whole numbers are places

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return (
            found
            if name.startswith("_") or not callable(found)
            else _keeping(found, self._noise)
        )


def _keeping(function: Callable, noise: Noise) -> Callable:
    return lambda *values, **options: noise.keep(function(*values, **options))
