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

An operator that computes in a way of its own, such as a convolution by Winograd's algorithm, declares the bound of
that way (`own_bounds`); the larger one counts.

Moves are random, and all may be small by chance. MOVES of them let nearly every correct element pass. What they do not
explain is not called wrong yet: the `wider_` bounds are the farthest of MOST moves, which can only be larger.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .depth import depth
from .examples import Example
from .formats import (
    FORMATS,
    Array,
    Values,
    is_float,
    largest_finite,
    largest_magnitude,
    wide,
)
from .moves import (
    MOVES,
    gradient_errors_inside,
    gradient_moves,
    is_opaque,
    moves_of_gradients,
    moves_of_outputs,
    off_inside,
    output_errors_inside,
    output_moves,
)
from .once import once

FACTOR = 4  # correct kernels were seen to need up to 1
MOST = 32  # before anything is called wrong
FURTHER_MOVES = range(MOVES, MOST)
FEW = 2  # moves for loose bounds


@once
def output_bounds(example: Example) -> list[Array]:
    """The allowed difference of every element of every output."""
    inner = output_errors_inside(example) if is_opaque(example) else None
    return _output_bounds(example, output_moves(example), inner)


@once
def wider_output_bounds(example: Example) -> list[Array]:
    """The same by more moves: an element beyond these is wrong."""
    moves = moves_of_outputs(example, FURTHER_MOVES)
    moves = _farther(output_moves(example), moves)
    inner = None
    if is_opaque(example):
        inner = moves_of_outputs(example, FURTHER_MOVES, off_inside)
        inner = _farther(output_errors_inside(example), inner)
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
    own = _own(example, derived=False)
    return _wider(_plus(outputs, bounds, inner), own)


@once
def gradient_bounds(example: Example) -> list[Array | None]:
    """The allowed difference of every element of every gradient that the formula declares."""
    inner = None
    if _derives_unseen(example):
        inner = gradient_errors_inside(example)
    return _gradient_bounds(example, gradient_moves(example), inner)


@once
def wider_gradient_bounds(example: Example) -> list[Array | None]:
    """The same by more moves: an element beyond these is wrong."""
    moves = moves_of_gradients(example, FURTHER_MOVES)
    moves = _farther(gradient_moves(example), moves)
    inner = None
    if _derives_unseen(example):
        inner = moves_of_gradients(example, FURTHER_MOVES, off_inside)
        inner = _farther(gradient_errors_inside(example), inner)
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
    own = _own(example, derived=True)
    return _wider(_plus(gradients, bounds, inner), own)


def _own(example: Example, derived: bool) -> Sequence[Array | None] | None:
    """The bounds that the operator declares for its own way to compute, if it has one."""
    if example.dtype != "float32":
        return None
    operator = example.operator
    if derived:
        return operator.own_gradient_bounds(example.seeds, *example.inputs)
    return operator.own_bounds(*example.inputs)


def _wider(bounds: list[Array | None], own: Sequence[Array | None] | None) -> list[Any]:
    """The larger bound of both, element by element."""
    if own is None:
        return bounds
    wider = []
    for bound, declared in zip(bounds, own, strict=True):
        if bound is None or declared is None:
            wider.append(bound)
        else:
            wider.append(np.fmax(bound, declared))
    return wider


def _derives_unseen(example: Example) -> bool:
    return is_opaque(example) and example.operator.differentiable


def _farther(first: Sequence[Array], further: Sequence[Array]) -> list[Array]:
    """The farther of two moves, element by element."""
    pairs = zip(first, further, strict=True)
    return [np.maximum(near, far) for near, far in pairs]


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
        moves_of = moves_of_gradients
        slack = _gradient_slack(example)
    else:
        right = example.outputs
        moves_of = moves_of_outputs
        slack = _output_slack(example)
    bounds: list[Array | None] = []
    for want, move in zip(right, moves_of(example, numbers), strict=True):
        if want is None:
            bounds.append(None)
            continue
        bound = allowed(want, move, example.dtype, example.size)
        bounds.append(np.maximum(bound, slack))
    inner = None
    if is_opaque(example):
        inner = moves_of(example, numbers, off_inside)
    return _wider(_plus(right, bounds, inner), _own(example, derived))


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
