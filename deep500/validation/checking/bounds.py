"""How far a correct result may be from the truth: what rounding explains, element by element.

    allowed = 4 · √depth · (moved + ε · |want|) + tiny

`moved` is how far the element moves in float64 when every input and every result on the way to it moves by up to one
unit of rounding ε of the dtype: much where terms cancel (x · (1 + erf x) far left of 0), little elsewhere. `depth` is
the number of operations behind one element; rounding errors add up as random numbers do, hence its root. The last term
is for kernels that set numbers below the smallest normal one to 0. Gradients may be off by half a unit of the largest
element more: frameworks make them from results (tanh' = 1 - y²), which cancel where the function is flat. A result that
is no float must be the same; only a quantised one (integers of up to 16 bits) may be off by one where such moves change
it, as they do at a tie of rounding.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...contracts.operator import Operator
from .differences import absolute
from .examples import Example, generator
from .formats import FORMATS, is_float, wide
from .rounding import Noise, RoundedNamespace

FACTOR = 4  # correct kernels were seen to need up to 1
MOVES = 8
PROBES = 8  # elements of every input whose influence is followed


def _once(function: Callable[[Example], list]) -> Callable[[Example], list]:
    """The function, asked once for every example that is in use."""
    found: WeakKeyDictionary[Example, list] = WeakKeyDictionary()

    @wraps(function)
    def remembered(example: Example) -> list:
        if example not in found:
            found[example] = function(example)
        return found[example]

    return remembered


@_once
def output_bounds(example: Example) -> list[np.ndarray]:
    """The allowed difference of every element of every output."""
    found = []
    for want, move in zip(example.outputs, output_moves(example), strict=True):
        operations = depth(example) / max(want.size, 1)
        found.append(
            allowed(want, move, example.dtype, operations)
            if is_float(want)
            else _of_integers(want, move)
        )
    return found


@_once
def gradient_bounds(example: Example) -> list[np.ndarray | None]:
    """The allowed difference of every element of every gradient that the formula declares."""
    operations = 2 * depth(example)
    return [
        None
        if want is None
        else allowed(
            want, move + _flat(want, example.dtype), example.dtype, operations / max(want.size, 1)
        )
        for want, move in zip(example.gradients, _gradient_moves(example), strict=True)
    ]


def allowed(want: np.ndarray, moved: np.ndarray, dtype: str, operations: float) -> np.ndarray:
    """How far each element may be off, with so many operations behind it."""
    form, size = FORMATS[dtype], np.abs(np.where(np.isfinite(want), want, 0)).astype("float64")
    return FACTOR * max(1.0, operations) ** 0.5 * (moved + form.eps * size) + form.tiny


def _flat(want: np.ndarray, dtype: str) -> float:
    """The error of a derivative that is made from the result: expm1' = y + 1, tanh' = 1 - y²."""
    return FORMATS[dtype].eps * float(np.max(np.abs(want), where=np.isfinite(want), initial=0)) / 2


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
        places = (
            draw.integers(0, inputs[i].size, min(PROBES, inputs[i].size)) if inputs[i].size else []
        )
        counts = [_reach(example, inputs, i, place) for place in places]
        reached += inputs[i].size * float(np.mean(counts)) if counts else 0.0
    return reached


def _reach(example: Example, inputs: tuple, i: int, place: int) -> int:
    """How many output elements change when one input element does."""
    changed = inputs[i].copy()
    changed.reshape(-1)[place] *= 1 + 2.0**-10
    made = example.truth((*inputs[:i], changed, *inputs[i + 1 :]))
    return sum(int(np.sum(a != b)) for a, b in zip(made, example.outputs, strict=True))


@_once
def output_moves(example: Example) -> list[np.ndarray]:
    """How far every element of the outputs moves at most when inputs and results on the way move by a unit."""
    return _largest(
        example.outputs,
        [
            example.truth(moved(example.inputs, noise), RoundedNamespace(noise))
            for noise in _noises(example)
        ],
    )


def _gradient_moves(example: Example) -> list[np.ndarray]:
    """The same of the gradients, when the gradients of the outputs move too."""
    return _largest(
        example.gradients,
        [
            example.formula(
                RoundedNamespace(noise), moved(example.inputs, noise), moved(example.seeds, noise)
            )
            for noise in _noises(example)
        ],
    )


def _noises(example: Example) -> list[Noise]:
    return [Noise(generator("moved", k), FORMATS[example.dtype]) for k in range(MOVES)]


def _largest(right: Sequence[Any], runs: Sequence[Sequence[Any]]) -> list[np.ndarray]:
    return [
        np.max([_distance(run[i], want) for run in runs], axis=0) for i, want in enumerate(right)
    ]


def moved(values: tuple, noise: Noise) -> tuple:
    """The float arrays in float64, every element moved by up to a unit of rounding."""
    return tuple(noise.spoil(x) if is_float(x) else x for x in wide(values))


def _distance(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray:
    if a is None or b is None or a.shape != b.shape:
        return np.zeros(() if b is None else b.shape)
    apart = absolute(a, b)
    return np.where(np.isfinite(apart), apart, 0.0)
