"""How far a correct result may be from the truth: what rounding explains, element by element.

    allowed = √depth · (4 · (moved + ε · |want|) + 2 · ε · max |want|) + tiny

`moved` is the conditioning: how far the element moves in float64 when every input moves by up to one unit of rounding ε
of the dtype. `depth` is the number of operations behind one element; rounding errors add up as random numbers do,
hence its root. The second term is for kernels that cancel inside (x · (1 + erf x) far left of 0), the last for those
that set numbers below the smallest normal one to 0. A result that is no float must be the same; only a quantised one
(integers of up to 16 bits) may be off by one where moving the inputs changes it, as it does at a tie of rounding.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...contracts.operator import Operator
from .differences import absolute
from .examples import XP, Example, generator
from .formats import FORMATS, is_float, wide

FACTOR = 4  # correct kernels were seen to need up to 1
FLOOR = 2
MOVES = 8
PROBES = 8  # elements of every input whose influence is followed


@lru_cache(maxsize=8)
def output_bounds(example: Example) -> list[np.ndarray]:
    """The allowed difference of every element of every output."""
    found = []
    for want, move in zip(example.outputs, _output_moves(example), strict=True):
        operations = depth(example) / max(want.size, 1)
        found.append(allowed(want, move, example.dtype, operations) if is_float(want) else _of_integers(want, move))
    return found


@lru_cache(maxsize=8)
def gradient_bounds(example: Example) -> list[np.ndarray | None]:
    """The allowed difference of every element of every gradient that the formula declares."""
    operations = 2 * depth(example)
    return [None if want is None else allowed(want, move, example.dtype, operations / max(want.size, 1))
            for want, move in zip(example.gradients, _gradient_moves(example), strict=True)]


def allowed(want: np.ndarray, moved: np.ndarray, dtype: str, operations: float) -> np.ndarray:
    """How far each element may be off, with so many operations behind it."""
    form, size = FORMATS[dtype], np.abs(np.where(np.isfinite(want), want, 0)).astype("float64")
    within = FACTOR * (moved + form.eps * size) + FLOOR * form.eps * np.max(size, initial=0)
    return max(1.0, operations)**0.5 * within + form.tiny


def _of_integers(want: np.ndarray, move: np.ndarray) -> np.ndarray:
    quantised = want.dtype.itemsize <= 2 and want.dtype != bool
    return np.minimum(move, 1.0) if quantised else np.zeros(want.shape)


def depth(example: Example) -> float:
    """The operations of one call: as the operator says, or from how many outputs an input element reaches."""
    if type(example.operator).flops is not Operator.flops and example.reference is None:
        return example.operator.flops(*example.tensors)
    inputs, reached = wide(example.inputs), 0.0
    draw = generator(example.name, "probes")
    for i in example.floats:
        places = draw.integers(0, inputs[i].size, min(PROBES, inputs[i].size)) if inputs[i].size else []
        counts = [_reach(example, inputs, i, place) for place in places]
        reached += inputs[i].size * float(np.mean(counts)) if counts else 0.0
    return reached


def _reach(example: Example, inputs: tuple, i: int, place: int) -> int:
    """How many output elements change when one input element does."""
    changed = inputs[i].copy()
    changed.reshape(-1)[place] *= 1 + 2.0**-10
    made = example.truth((*inputs[:i], changed, *inputs[i + 1:]))
    return sum(int(np.sum(a != b)) for a, b in zip(made, example.outputs, strict=True))


def _output_moves(example: Example) -> list[np.ndarray]:
    """The largest move of every element of the outputs when every input moves by a unit of rounding."""
    return _largest(example.outputs, [example.truth(moved(example.inputs, example.dtype, k)) for k in range(MOVES)])


def _gradient_moves(example: Example) -> list[np.ndarray]:
    """The same of the gradients, when the gradients of the outputs move too."""
    return _largest(example.gradients, [
        example.formula(XP, moved(example.inputs, example.dtype, k), moved(example.seeds, example.dtype, k))
        for k in range(MOVES)])


def _largest(right: Sequence[Any], runs: Sequence[Sequence[Any]]) -> list[np.ndarray]:
    return [np.max([_distance(run[i], want) for run in runs], axis=0) for i, want in enumerate(right)]


def moved(values: tuple, dtype: str, k: int) -> tuple:
    """The float arrays in float64, every element moved by up to a unit of rounding."""
    draw, eps = generator("moved", k), FORMATS[dtype].eps
    return tuple(x * (1 + eps * draw.uniform(-1, 1, x.shape)) if is_float(x) else x for x in wide(values))


def _distance(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray:
    if a is None or b is None or a.shape != b.shape:
        return np.zeros(() if b is None else b.shape)
    apart = absolute(a, b)
    return np.where(np.isfinite(apart), apart, 0.0)
