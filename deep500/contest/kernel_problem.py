"""What a contest of kernels is about: the organiser's file with `inputs(rng)`, `reference(*inputs)` and a tolerance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..canonical import shown
from ..errors import Deep500Error, with_place
from ..rerun.recipe_files import readable_namespace

MOST_BYTES = 1 << 29  # of the inputs and outputs of a visit
RTOL, ATOL = 1e-4, 1e-6
NUMBERS = frozenset("biufc")  # kinds of NumPy's dtypes
Arrays = Sequence[np.ndarray]


@dataclass(frozen=True)
class KernelProblem:
    """Fresh inputs by a random generator, and what is right for them."""

    inputs: Callable[[np.random.Generator], Any]
    reference: Callable[..., Any]
    rtol: float = RTOL
    atol: float = ATOL

    def drawn(self, random: np.random.Generator, calls: int) -> list[np.ndarray]:
        """The inputs of so many calls, every input as one array with the call as its first axis."""
        calls_inputs = [as_arrays(self.inputs(random)) for _ in range(calls)]
        return [np.stack(column) for column in zip(*calls_inputs, strict=True)]

    def expected(self, inputs: Arrays) -> list[np.ndarray]:
        """The right outputs of all calls, in the same form."""
        outputs = []
        for call in range(len(inputs[0])):
            result = self.reference(*(array[call].copy() for array in inputs))
            outputs.append(as_arrays(result))
        return [np.stack(column) for column in zip(*outputs, strict=True)]

    def worst(self, outputs: Arrays, expected: Arrays) -> float:
        """The largest error of an element in units of what is allowed; infinite where a number is missing."""
        worst = 0.0
        for got, wanted in zip(outputs, expected, strict=True):
            allowed = self.atol + self.rtol * np.abs(wanted.astype(np.float64))
            with np.errstate(invalid="ignore"):
                error = np.abs(got.astype(np.float64) - wanted) / allowed
            error = np.where(got == wanted, 0.0, error)  # equal infinities
            both_nan = np.isnan(got) & np.isnan(wanted)
            error = np.where(both_nan, 0.0, error)
            worst = max(worst, float(np.nan_to_num(error, nan=np.inf).max(initial=0.0)))
        return worst


def load_problem(path: Path) -> KernelProblem:
    """The organiser's problem, whose file is run."""
    names = readable_namespace(path, "problem")
    for name in ("inputs", "reference"):
        if not callable(names.get(name)):
            raise Deep500Error(
                f"the problem {path} has no function {name!r}: it needs inputs(rng) and reference(*inputs)"
            )
    rtol, atol = _tolerance(path, names.get("TOLERANCE", (RTOL, ATOL)))
    return KernelProblem(names["inputs"], names["reference"], rtol, atol)


def check_problem(path: Path) -> None:
    """Raise a Deep500Error if the problem gives no inputs and outputs for two calls."""
    problem = load_problem(path)
    try:
        inputs = problem.drawn(np.random.default_rng(0), 2)
        _check_numbers(path, "inputs", inputs)
        _check_numbers(path, "reference", problem.expected(inputs))
    except (Deep500Error, KeyboardInterrupt):
        raise
    except BaseException as error:
        # a user's function may raise anything, even SystemExit
        reason = with_place(error)
        raise Deep500Error(f"the problem {path} cannot be posed: {reason}") from None


def _check_numbers(path: Path, function: str, arrays: Arrays) -> None:
    kinds = {array.dtype.kind for array in arrays}
    if not arrays or not kinds <= NUMBERS:
        raise Deep500Error(
            f"{function} of the problem {path} returns no array of numbers: return one, or a tuple of them"
        )


def _tolerance(path: Path, value: object) -> tuple[float, float]:
    match value:
        case (int() | float() as rtol, int() | float() as atol) if (
            rtol >= 0 and atol >= 0
        ):
            return float(rtol), float(atol)
    raise Deep500Error(
        f"TOLERANCE of {path} is {shown(value)}: give (relative, absolute), numbers from 0"
    )


def as_arrays(value: Any) -> list[np.ndarray]:
    """What a function takes or returns as a list of arrays."""
    values = value if isinstance(value, tuple | list) else [value]
    return [np.asarray(item) for item in values]
