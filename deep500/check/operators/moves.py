"""How far results move when inputs, and results on the way to them, move by up to a unit of rounding."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .differences import absolute
from .examples import XP, Example
from .formats import Array, Values, map_arrays, map_floats, wide
from .once import once
from .rounding import INSIDE, PerturbedRun, RoundedNamespace
from .subjects import is_custom

MOVES = 8  # at first
FIRST_MOVES = range(MOVES)
# one run: these values as they go in, and the namespace that they are computed with
Perturbation = Callable[..., tuple[Any, ...]]


@once
def output_moves(example: Example) -> list[Array]:
    """The first moves of the outputs."""
    return moves_of_outputs(example, FIRST_MOVES)


@once
def gradient_moves(example: Example) -> list[Array]:
    """The first moves of the gradients, when the gradients of the outputs move too."""
    return moves_of_gradients(example, FIRST_MOVES)


@once
def output_errors_inside(example: Example) -> list[Array]:
    """The first moves of the outputs by errors inside of code."""
    return moves_of_outputs(example, FIRST_MOVES, off_inside)


@once
def gradient_errors_inside(example: Example) -> list[Array]:
    """The first moves of the gradients by errors inside of code."""
    return moves_of_gradients(example, FIRST_MOVES, off_inside)


def perturbed(example: Example, number: int, *values: tuple) -> tuple[Any, ...]:
    """The values moved at random, and a namespace that makes errors, if the code is a formula."""
    noise = PerturbedRun(number, example.dtype)
    inputs = [_moved(example, of_one, noise) for of_one in values]
    return (*inputs, _namespace(example, noise))


def off_inside(example: Example, number: int, *values: tuple) -> tuple[Any, ...]:
    """The values as they are, and a namespace that makes errors inside of code."""
    run = PerturbedRun(number, example.dtype, INSIDE)
    return (*map(wide, values), RoundedNamespace(run))


def moves_of_outputs(
    example: Example, numbers: range, run: Perturbation = perturbed
) -> list[Array]:
    """How far every element of the outputs moves at most in these runs."""
    calls = [run(example, number, example.inputs) for number in numbers]
    return _largest(example.outputs, example.truths(calls))


def moves_of_gradients(
    example: Example, numbers: range, run: Perturbation = perturbed
) -> list[Array]:
    """How far every element of the gradients moves at most in these runs."""
    calls = [run(example, number, example.inputs, example.seeds) for number in numbers]
    return _largest(example.gradients, example.formulas(calls))


def is_opaque(example: Example) -> bool:
    """Whether its truth is code rather than a formula: a reference, a custom operator, a plain function."""
    operator = example.operator
    is_function = getattr(operator, "is_function", False)
    is_code = is_function or is_custom(operator)
    return example.reference is not None or is_code


def _namespace(example: Example, noise: PerturbedRun) -> Any:
    """One that makes errors, if its code is a formula; the errors inside of other code are made apart."""
    return XP if is_opaque(example) else RoundedNamespace(noise)


def _moved(example: Example, values: tuple, noise: PerturbedRun) -> tuple:
    result = moved(values, noise)
    if is_opaque(example):
        return map_arrays(np.asarray, result)
    return result


def _largest(right: Values, runs: Sequence[Values]) -> list[Array]:
    """How far every element of every array is at most from the right one, over all runs."""
    largest = []
    for i, want in enumerate(right):
        distances = [_distance(run[i], want) for run in runs]
        largest.append(np.max(distances, axis=0))
    return largest


def moved(values: tuple, noise: PerturbedRun) -> tuple:
    """The float arrays in float64, every element moved by up to a unit of rounding."""
    return map_floats(noise.spoil, wide(values))


def _distance(a: Array | None, b: Array | None) -> Array:
    """How far a is from b element by element; 0 where that is not finite or one of them is missing."""
    if b is None:
        return np.zeros(())
    if a is None or a.shape != b.shape:
        return np.zeros(b.shape)
    apart = absolute(a, b)
    return np.where(np.isfinite(apart), apart, 0.0)
