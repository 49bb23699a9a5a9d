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

import numpy as np

from ...contracts.operator import Operator
from .differences import absolute
from .examples import XP, Example
from .formats import (
    FORMATS,
    Array,
    Values,
    is_float,
    largest_finite,
    largest_magnitude,
    map_floats,
    wide,
)
from .rounding import PerturbedRun, RoundedNamespace

FACTOR = 4  # correct kernels were seen to need up to 1
MOVES = 8
PROBES = 8  # elements of every input whose influence is followed
MANY = 10_000  # an input of this many elements is large
FEW = 2  # probes of a large input, and moves for loose bounds


def _once(function: Callable[[Example], list]) -> Callable[[Example], list]:
    """The function, called once per example, which keeps the result under the function's name."""
    name = function.__name__

    @wraps(function)
    def remembered(example: Example) -> list:
        result: list = example.__dict__.get(name) or function(example)
        example.__dict__[name] = result
        return result

    return remembered


@_once
def output_bounds(example: Example) -> list[Array]:
    """The allowed difference of every element of every output."""
    bounds = []
    outputs = example.outputs
    for want, move in zip(outputs, output_moves(example), strict=True):
        if not is_float(want):
            bounds.append(_integer_bound(want, move))
            continue
        operations = depth(example) / max(want.size, 1)
        moved = move + _output_slack(example)
        bounds.append(allowed(want, moved, example.dtype, operations))
    return bounds


@_once
def gradient_bounds(example: Example) -> list[Array | None]:
    """The allowed difference of every element of every gradient that the formula declares."""
    bounds: list[Array | None] = []
    gradients = example.gradients
    for want, move in zip(gradients, _gradient_moves(example), strict=True):
        if want is None:
            bounds.append(None)
            continue
        operations = 2 * depth(example) / max(want.size, 1)
        slack = _flat(want, example.dtype) + _gradient_slack(example)
        moved = move + slack
        bounds.append(allowed(want, moved, example.dtype, operations))
    return bounds


def _output_slack(example: Example) -> float:
    return FORMATS[example.dtype].eps * example.slack


def _gradient_slack(example: Example) -> float:
    """Where the function is flat a derivative may be made from results: 1 - y² is off by a unit of 1."""
    if not example.slack:
        return 0.0
    largest = 0.0
    for seed in wide(example.seeds):
        if seed is not None:
            largest = max(largest, largest_magnitude(seed))
    eps = FORMATS[example.dtype].eps
    return eps * max(1.0, example.slack) * largest


def loose_bounds(example: Example, derived: bool) -> list[Array | None]:
    """Bounds of the outputs, or of the gradients, in any order of additions; from few moves, for large examples."""
    right: Sequence[Array | None]
    if derived:
        right = example.gradients
        moves = _gradient_moves(example, FEW)
        slack = _gradient_slack(example)
    else:
        right = example.outputs
        moves = _output_moves(example, FEW)
        slack = _output_slack(example)
    bounds: list[Array | None] = []
    for want, move in zip(right, moves, strict=True):
        if want is None:
            bounds.append(None)
            continue
        bound = allowed(want, move, example.dtype, example.size)
        bounds.append(np.maximum(bound, slack))
    return bounds


def allowed(want: Array, moved: Array, dtype: str, operations: float) -> Array:
    """How far each element may be off, with this many operations behind it."""
    form = FORMATS[dtype]
    finite = np.where(np.isfinite(want), want, 0)
    size = np.abs(finite).astype("float64")
    growth = FACTOR * max(1.0, operations) ** 0.5
    return growth * (moved + form.eps * size) + form.tiny


def _flat(want: Array, dtype: str) -> float:
    """The error of a derivative that is made from the result: expm1' = y + 1, tanh' = 1 - y²."""
    return FORMATS[dtype].eps * largest_finite(want) / 2


def _integer_bound(want: Array, move: Array) -> Array:
    """At most 1 for quantised values, 0 for other integers and booleans."""
    is_quantised = want.dtype.itemsize <= 2 and want.dtype != bool
    if not is_quantised:
        return np.zeros(want.shape)
    return np.minimum(move, 1.0)


def depth(example: Example) -> float:
    """The operations of one call: as the operator says, or from how many outputs an input element reaches."""
    if example.operations is not None:
        return example.operations
    return _depth(example)[0]


@_once
def _depth(example: Example) -> list[float]:
    counts_flops = type(example.operator).flops is not Operator.flops
    if counts_flops and example.reference is None:
        return [example.operator.flops(*example.tensors)]
    inputs = wide(example.inputs)
    draw = example.draw("probes")
    calls = []
    weights = []
    for i in example.floats:
        size = inputs[i].size
        probes = PROBES if size < MANY else FEW
        count = min(probes, size)
        for place in draw.integers(0, max(size, 1), count):
            probed = _probed(inputs, i, int(place))
            calls.append((probed, XP))
            weights.append(size / count)
    results = example.truths(calls)
    reached = [_reach(outputs, example.outputs) for outputs in results]
    if not reached:
        return [0.0]
    return [float(np.dot(reached, weights))]


def _probed(inputs: tuple, i: int, place: int) -> tuple:
    """The inputs with one element changed."""
    probed = list(inputs)
    probed[i] = inputs[i].copy()
    probed[i].reshape(-1)[place] *= 1 + 2.0**-10
    return tuple(probed)


def _reach(probed: Sequence[Array], outputs: Sequence[Array]) -> int:
    """How many output elements the change of an input reached."""
    count = 0
    for changed, original in zip(probed, outputs, strict=True):
        count += int(np.sum(changed != original))
    return count


@_once
def output_moves(example: Example) -> list[Array]:
    """How far every element of the outputs moves at most when inputs and results on the way move by a unit."""
    return _output_moves(example, MOVES)


def _output_moves(example: Example, count: int) -> list[Array]:
    calls = []
    for noise in _noises(example, count):
        inputs = moved(example.inputs, noise)
        calls.append((inputs, RoundedNamespace(noise)))
    return _largest(example.outputs, example.truths(calls))


def _gradient_moves(example: Example, count: int = MOVES) -> list[Array]:
    """The same of the gradients, when the gradients of the outputs move too."""
    calls = []
    for noise in _noises(example, count):
        inputs = moved(example.inputs, noise)
        seeds = moved(example.seeds, noise)
        calls.append((inputs, seeds, RoundedNamespace(noise)))
    return _largest(example.gradients, example.formulas(calls))


def _noises(example: Example, count: int) -> list[PerturbedRun]:
    return [PerturbedRun(number, example.dtype) for number in range(count)]


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
