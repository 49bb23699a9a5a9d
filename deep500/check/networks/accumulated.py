"""A whole network in float64, and how far the rounding of all its nodes may move its outputs and gradients.

The network runs several times with every input, parameter and intermediate result moved by up to one rounding error;
what moves much there may differ much. The bound only tells where to look closer: nodes are judged one by one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contracts.network import Network
from ...graph import tape
from ..operators.bounds import allowed
from ..operators.differences import absolute
from ..operators.examples import XP
from ..operators.formats import FORMATS, is_float, wide
from ..operators.moves import moved
from ..operators.rounding import PerturbedRun, RoundedNamespace
from .truth import Truth

MOVES = 4
Arrays = dict[str, np.ndarray]
# runs the network on a namespace and its inputs
Run = Callable[[Any, Arrays], Arrays]


@dataclass(frozen=True)
class Expected:
    """The expected arrays by name, in float64, and how far each element may be off."""

    arrays: Arrays
    bounds: Arrays
    dtype: str


def coarsest(values: Mapping[str, Any]) -> str:
    """The float dtype with the largest rounding error among these values."""
    dtypes = {value.dtype.name for value in values.values() if is_float(value)}
    return max(dtypes, key=lambda dtype: FORMATS[dtype].eps, default="float32")


def expected_outputs(
    network: Network, truth: Truth, operations: float, names: Sequence[str] = ()
) -> Expected:
    """The outputs (or the values of these names) in evaluation mode."""
    keep = list(names or network.outputs)
    nodes, _ = truth.keyed.part(keep, training=False)

    def run(xp: Any, values: Arrays) -> Arrays:
        results, _ = tape.forward(xp, nodes, values, keep, record=False)
        return results

    return _expected(run, truth.initial_values, operations)


def expected_gradients(truth: Truth, operations: float) -> Expected:
    """The gradients of y by all trained parameters."""
    y = truth.y
    assert y is not None

    def run(xp: Any, values: Arrays) -> Arrays:
        results, record = tape.forward(xp, truth.nodes, values, [y])
        by = {name: values[name] for name in truth.trainable}
        seed = tape.seed(xp, results[y], y)
        return tape.backward(xp, record, y, seed, by)

    return _expected(run, truth.initial_values, operations)


def _expected(
    run: Run, inputs: Mapping[str, np.ndarray], operations: float
) -> Expected:
    """What `run` gives in float64, with bounds from runs that are moved by rounding errors."""
    dtype = coarsest(inputs)
    values = tuple(inputs.values())
    exact_inputs = dict(zip(inputs, wide(values), strict=True))
    exact = run(XP, exact_inputs)
    arrays = {}
    moves = {}
    for name, value in exact.items():
        arrays[name] = np.asarray(value)
        moves[name] = np.zeros(np.shape(value))
    for number in range(MOVES):
        noise = PerturbedRun(number, dtype)
        moved_inputs = dict(zip(inputs, moved(values, noise), strict=True))
        moved_results = run(RoundedNamespace(noise), moved_inputs)
        for name, value in moved_results.items():
            distance = _distance(value, exact[name])
            moves[name] = np.maximum(moves[name], distance)
    epsilon = FORMATS[dtype].eps
    bounds = {}
    for name, value in arrays.items():
        is_finite = np.isfinite(value)
        largest = float(np.max(np.abs(value), where=is_finite, initial=0))
        move = moves[name] + epsilon * largest
        bounds[name] = allowed(value, move, dtype, operations)
    return Expected(arrays, bounds, dtype)


def _distance(a: Any, b: Any) -> np.ndarray:
    """The absolute difference of every element; 0 where it is not finite."""
    difference = absolute(np.asarray(a), np.asarray(b))
    return np.where(np.isfinite(difference), difference, 0.0)
