"""How far a correct result may be from the truth: what rounding explains, element by element.

    allowed = 4 · √depth · (moved + ε · |want|) + tiny

`moved` is how far the element moves in float64 when every input and every result on the way to it moves by up to one
unit of rounding ε of the dtype: much where terms cancel (x · (1 + erf x) far left of 0), little elsewhere. `depth` is
the number of operations behind one element; rounding errors add up as random numbers do, hence its root. The last term
is for kernels that set numbers below the smallest normal one to 0. Gradients may be off by half a unit of the largest
element more: frameworks make them from results (tanh' = 1 - y²), which cancel where the function is flat. For code that
is no formula over a namespace, the errors inside are made by opaque.py in runs of their own, and 4 times the farthest
move is allowed as well: in a loop that adds, they add up already. A result that
is no float must be the same; only a quantised one (integers of up to 16 bits) may be off by one where such moves change
it, as they do at a tie of rounding.

Moves are random, and all may be small by chance. MOVES of them let nearly every correct element pass. What they do not
explain is not called wrong yet: the `wider_` bounds are the farthest of MOST moves, which can only be larger.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

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
    map_arrays,
    map_floats,
    wide,
)
from .rounding import INSIDE, PerturbedRun, RoundedNamespace
from .subjects import is_custom

FACTOR = 4  # correct kernels were seen to need up to 1
MOVES = 8  # at first
MOST = 32  # before anything is called wrong
FIRST_MOVES = range(MOVES)
FURTHER_MOVES = range(MOVES, MOST)
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
    inner = _inner_output_moves(example) if is_opaque(example) else None
    return _output_bounds(example, output_moves(example), inner)


@_once
def wider_output_bounds(example: Example) -> list[Array]:
    """The same by more moves: an element beyond these is wrong."""
    moves = _output_moves(example, FURTHER_MOVES)
    moves = _farther(output_moves(example), moves)
    inner = None
    if is_opaque(example):
        inner = _inner_outputs(example, FURTHER_MOVES)
        inner = _farther(_inner_output_moves(example), inner)
    return _output_bounds(example, moves, inner)


def _output_bounds(
    example: Example, moves: Sequence[Array], inner: Sequence[Array] | None
) -> list[Array]:
    bounds = []
    outputs = example.outputs
    for want, move in zip(outputs, moves, strict=True):
        if not is_float(want):
            bounds.append(_integer_bound(want, move))
            continue
        operations = depth(example) / max(want.size, 1)
        moved = move + _output_slack(example)
        bounds.append(allowed(want, moved, example.dtype, operations))
    return _plus(outputs, bounds, inner)


@_once
def gradient_bounds(example: Example) -> list[Array | None]:
    """The allowed difference of every element of every gradient that the formula declares."""
    inner = None
    if _derives_unseen(example):
        inner = _inner_gradient_moves(example)
    return _gradient_bounds(example, _first_gradient_moves(example), inner)


@_once
def wider_gradient_bounds(example: Example) -> list[Array | None]:
    """The same by more moves: an element beyond these is wrong."""
    moves = _gradient_moves(example, FURTHER_MOVES)
    moves = _farther(_first_gradient_moves(example), moves)
    inner = None
    if _derives_unseen(example):
        inner = _inner_gradients(example, FURTHER_MOVES)
        inner = _farther(_inner_gradient_moves(example), inner)
    return _gradient_bounds(example, moves, inner)


def _gradient_bounds(
    example: Example, moves: Sequence[Array], inner: Sequence[Array] | None
) -> list[Array | None]:
    bounds: list[Array | None] = []
    gradients = example.gradients
    for want, move in zip(gradients, moves, strict=True):
        if want is None:
            bounds.append(None)
            continue
        operations = 2 * depth(example) / max(want.size, 1)
        slack = _flat(want, example.dtype) + _gradient_slack(example)
        moved = move + slack
        bounds.append(allowed(want, moved, example.dtype, operations))
    return _plus(gradients, bounds, inner)


def _derives_unseen(example: Example) -> bool:
    return is_opaque(example) and example.operator.differentiable


def _farther(first: Sequence[Array], further: Sequence[Array]) -> list[Array]:
    """The farther of two moves, element by element."""
    pairs = zip(first, further, strict=True)
    return [np.maximum(near, far) for near, far in pairs]


def is_opaque(example: Example) -> bool:
    """Whether its truth is code rather than a formula: a reference, a custom operator, a plain function."""
    operator = example.operator
    is_function = getattr(operator, "is_function", False)
    is_code = is_function or is_custom(operator)
    return example.reference is not None or is_code


def _plus(
    right: Values,
    bounds: Sequence[Array | None],
    moves: Sequence[Array] | None,
) -> list:
    """The bounds of floats, with room for rounding inside of code; all of its steps are in these moves."""
    if moves is None:
        return list(bounds)
    sums = []
    for want, bound, move in zip(right, bounds, moves, strict=True):
        if bound is not None and is_float(want):
            bound = bound + FACTOR * move
        sums.append(bound)
    return sums


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


def loose_bounds(
    example: Example, derived: bool, count: int = FEW
) -> list[Array | None]:
    """Bounds of the outputs, or of the gradients, in any order of additions; from few moves, for large examples."""
    right: Sequence[Array | None]
    numbers = range(count)
    if derived:
        right = example.gradients
        moves = _gradient_moves(example, numbers)
        slack = _gradient_slack(example)
    else:
        right = example.outputs
        moves = _output_moves(example, numbers)
        slack = _output_slack(example)
    bounds: list[Array | None] = []
    for want, move in zip(right, moves, strict=True):
        if want is None:
            bounds.append(None)
            continue
        bound = allowed(want, move, example.dtype, example.size)
        bounds.append(np.maximum(bound, slack))
    inner = None
    if is_opaque(example):
        made = _inner_gradients if derived else _inner_outputs
        inner = made(example, numbers)
    return _plus(right, bounds, inner)


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
    probed[i].flat[place] *= 1 + 2.0**-10
    return tuple(probed)


def _reach(probed: Sequence[Array], outputs: Sequence[Array]) -> int:
    """How many output elements the change of an input reached; all, of one that has another shape then."""
    count = 0
    for changed, original in zip(probed, outputs, strict=True):
        if changed.shape == original.shape:
            count += int(np.sum(changed != original))
        else:
            count += original.size
    return count


@_once
def output_moves(example: Example) -> list[Array]:
    """How far every element of the outputs moves at most when inputs and results on the way move by a unit."""
    return _output_moves(example, FIRST_MOVES)


def _output_moves(example: Example, numbers: range) -> list[Array]:
    calls = []
    for noise in _noises(example, numbers):
        inputs = _moved(example, example.inputs, noise)
        calls.append((inputs, _namespace(example, noise)))
    return _largest(example.outputs, example.truths(calls))


@_once
def _inner_output_moves(example: Example) -> list[Array]:
    return _inner_outputs(example, FIRST_MOVES)


def _inner_outputs(example: Example, numbers: range) -> list[Array]:
    """How far every element moves when results on the way to it are off, inside of code."""
    inputs = wide(example.inputs)
    calls = []
    for number in numbers:
        calls.append((inputs, _rounded_inside(example, number)))
    return _largest(example.outputs, example.truths(calls))


@_once
def _inner_gradient_moves(example: Example) -> list[Array]:
    return _inner_gradients(example, FIRST_MOVES)


def _inner_gradients(example: Example, numbers: range) -> list[Array]:
    inputs = wide(example.inputs)
    seeds = wide(example.seeds)
    calls = []
    for number in numbers:
        calls.append((inputs, seeds, _rounded_inside(example, number)))
    return _largest(example.gradients, example.formulas(calls))


def _rounded_inside(example: Example, number: int) -> RoundedNamespace:
    return RoundedNamespace(PerturbedRun(number, example.dtype, INSIDE))


def _namespace(example: Example, noise: PerturbedRun) -> Any:
    """One that makes errors, if its code is a formula; the errors inside of other code are made apart."""
    return XP if is_opaque(example) else RoundedNamespace(noise)


def _moved(example: Example, values: tuple, noise: PerturbedRun) -> tuple:
    result = moved(values, noise)
    if is_opaque(example):
        return map_arrays(np.asarray, result)
    return result


@_once
def _first_gradient_moves(example: Example) -> list[Array]:
    return _gradient_moves(example, FIRST_MOVES)


def _gradient_moves(example: Example, numbers: range) -> list[Array]:
    """The same of the gradients, when the gradients of the outputs move too."""
    calls = []
    for noise in _noises(example, numbers):
        inputs = _moved(example, example.inputs, noise)
        seeds = _moved(example, example.seeds, noise)
        calls.append((inputs, seeds, _namespace(example, noise)))
    return _largest(example.gradients, example.formulas(calls))


def _noises(example: Example, numbers: range) -> list[PerturbedRun]:
    return [PerturbedRun(number, example.dtype) for number in numbers]


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
