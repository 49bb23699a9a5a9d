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

import numpy as np

from ...contracts.operator import Operator
from .differences import absolute
from .examples import XP, Example
from .formats import FORMATS, is_float, wide
from .rounding import Noise, RoundedNamespace

FACTOR = 4  # correct kernels were seen to need up to 1
MOVES = 8
PROBES = 8  # elements of every input whose influence is followed
MANY = 10_000  # elements of an input of which only few are followed, and that is moved few times
FEW = 2


def _once(function: Callable[[Example], list]) -> Callable[[Example], list]:
    """The function, asked once for every example, which keeps the answer under the function's name."""

    @wraps(function)
    def remembered(example: Example) -> list:
        found: list = example.__dict__.get(function.__name__) or function(example)
        example.__dict__[function.__name__] = found
        return found

    return remembered


@_once
def output_bounds(example: Example) -> list[np.ndarray]:
    """The allowed difference of every element of every output."""
    found = []
    for want, move in zip(example.outputs, output_moves(example), strict=True):
        if not is_float(want):
            found.append(_of_integers(want, move))
            continue
        operations = depth(example) / max(want.size, 1)
        slack = FORMATS[example.dtype].eps * example.slack
        found.append(allowed(want, move + slack, example.dtype, operations))
    return found


@_once
def gradient_bounds(example: Example) -> list[np.ndarray | None]:
    """The allowed difference of every element of every gradient that the formula declares."""
    found: list[np.ndarray | None] = []
    for want, move in zip(example.gradients, _gradient_moves(example), strict=True):
        if want is None:
            found.append(None)
            continue
        operations = 2 * depth(example) / max(want.size, 1)
        more = _flat(want, example.dtype) + _gradient_slack(example)
        found.append(allowed(want, move + more, example.dtype, operations))
    return found


def _gradient_slack(example: Example) -> float:
    """Where the function is flat a derivative may be made from results: 1 - y² is off by a unit of 1."""
    if not example.slack:
        return 0.0
    sizes = [
        float(np.max(np.abs(s), initial=0))
        for s in wide(example.seeds)
        if s is not None
    ]
    return (
        FORMATS[example.dtype].eps * max(1.0, example.slack) * max(sizes, default=0.0)
    )


def loose_bounds(example: Example, derived: bool) -> list[np.ndarray | None]:
    """Bounds of the outputs, or of the gradients, in any order of additions; from few moves, for large examples."""
    right = example.gradients if derived else example.outputs
    moves = (_gradient_moves if derived else _output_moves)(example, FEW)
    slack = (
        _gradient_slack(example)
        if derived
        else FORMATS[example.dtype].eps * example.slack
    )
    return [
        None
        if want is None
        else np.maximum(allowed(want, move, example.dtype, example.size), slack)
        for want, move in zip(right, moves, strict=True)
    ]


def allowed(
    want: np.ndarray, moved: np.ndarray, dtype: str, operations: float
) -> np.ndarray:
    """How far each element may be off, with so many operations behind it."""
    form, size = (
        FORMATS[dtype],
        np.abs(np.where(np.isfinite(want), want, 0)).astype("float64"),
    )
    return FACTOR * max(1.0, operations) ** 0.5 * (moved + form.eps * size) + form.tiny


def _flat(want: np.ndarray, dtype: str) -> float:
    """The error of a derivative that is made from the result: expm1' = y + 1, tanh' = 1 - y²."""
    return (
        FORMATS[dtype].eps
        * float(np.max(np.abs(want), where=np.isfinite(want), initial=0))
        / 2
    )


def _of_integers(want: np.ndarray, move: np.ndarray) -> np.ndarray:
    quantised = want.dtype.itemsize <= 2 and want.dtype != bool
    return np.minimum(move, 1.0) if quantised else np.zeros(want.shape)


def depth(example: Example) -> float:
    """The operations of one call: as the operator says, or from how many outputs an input element reaches."""
    if example.operations is not None:
        return example.operations
    return _depth(example)[0]


@_once
def _depth(example: Example) -> list[float]:
    if type(example.operator).flops is not Operator.flops and example.reference is None:
        return [example.operator.flops(*example.tensors)]
    inputs = wide(example.inputs)
    draw = example.draw("probes")
    calls, sizes = [], []
    for i in example.floats:
        size = inputs[i].size
        count = min(PROBES if size < MANY else FEW, size)
        for place in draw.integers(0, max(size, 1), count):
            calls.append((_probed(inputs, i, int(place)), XP))
            sizes.append(size / count)
    reached = [_reach(made, example.outputs) for made in example.truths(calls)]
    return [float(np.dot(reached, sizes)) if calls else 0.0]


def _probed(inputs: tuple, i: int, place: int) -> tuple:
    """The inputs with one element changed."""
    changed = inputs[i].copy()
    changed.reshape(-1)[place] *= 1 + 2.0**-10
    return (*inputs[:i], changed, *inputs[i + 1 :])


def _reach(made: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> int:
    """How many output elements are others."""
    return sum(int(np.sum(a != b)) for a, b in zip(made, outputs, strict=True))


@_once
def output_moves(example: Example) -> list[np.ndarray]:
    """How far every element of the outputs moves at most when inputs and results on the way move by a unit."""
    return _output_moves(example, MOVES)


def _output_moves(example: Example, count: int) -> list[np.ndarray]:
    noises = _noises(example, count)
    calls = [
        (moved(example.inputs, noise), RoundedNamespace(noise)) for noise in noises
    ]
    return _largest(example.outputs, example.truths(calls))


def _gradient_moves(example: Example, count: int = MOVES) -> list[np.ndarray]:
    """The same of the gradients, when the gradients of the outputs move too."""
    calls = [
        (
            moved(example.inputs, noise),
            moved(example.seeds, noise),
            RoundedNamespace(noise),
        )
        for noise in _noises(example, count)
    ]
    return _largest(example.gradients, example.formulas(calls))


def _noises(example: Example, count: int) -> list[Noise]:
    return [Noise(k, example.dtype) for k in range(count)]


def _largest(right: Sequence[Any], runs: Sequence[Sequence[Any]]) -> list[np.ndarray]:
    return [
        np.max([_distance(run[i], want) for run in runs], axis=0)
        for i, want in enumerate(right)
    ]


def moved(values: tuple, noise: Noise) -> tuple:
    """The float arrays in float64, every element moved by up to a unit of rounding."""
    return tuple(noise.spoil(x) if is_float(x) else x for x in wide(values))


def _distance(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray:
    if a is None or b is None or a.shape != b.shape:
        return np.zeros(() if b is None else b.shape)
    apart = absolute(a, b)
    return np.where(np.isfinite(apart), apart, 0.0)
