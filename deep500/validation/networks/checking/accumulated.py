"""A whole network in float64, and how far rounding on the way may move its outputs and gradients.

The network runs several times with every input, parameter and result on the way moved by up to one rounding error;
what moves much there is allowed to differ much. It says when to look closer: nodes are judged one by one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....contracts import tape
from ....contracts.network import Network
from ...checking.bounds import allowed, moved
from ...checking.differences import absolute
from ...checking.examples import XP
from ...checking.formats import FORMATS, is_float, wide
from ...checking.rounding import Noise, RoundedNamespace
from .truth import Truth

MOVES = 4
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Expected:
    """Arrays by name, in float64, and how far each element may be off."""

    arrays: Arrays
    bounds: Arrays
    dtype: str


def coarsest(values: Mapping[str, Any]) -> str:
    """The float dtype with the largest rounding error among these."""
    names = {value.dtype.name for value in values.values() if is_float(value)}
    return max(names, key=lambda name: FORMATS[name].eps, default="float32")


def expected_outputs(
    network: Network, truth: Truth, operations: float, names: Sequence[str] = ()
) -> Expected:
    """The outputs (or the values of these names) in evaluation."""
    wanted = list(names or network.outputs)
    nodes = truth.keyed.part(wanted, training=False)[0]
    given = truth.given

    def run(xp: Any, values: Arrays) -> Arrays:
        return tape.forward(xp, nodes, values, wanted, record=False)[0]

    return _expected(run, given, operations)


def expected_gradients(truth: Truth, operations: float) -> Expected:
    """The gradients of y by everything that is trained."""
    y = truth.y
    assert y is not None

    def run(xp: Any, values: Arrays) -> Arrays:
        made, record = tape.forward(xp, truth.nodes, values, [y])
        by = {name: values[name] for name in truth.trainable}
        return tape.backward(xp, record, y, tape.seed(xp, made[y], y), by)

    return _expected(run, truth.given, operations)


def _expected(run: Any, given: Mapping[str, np.ndarray], operations: float) -> Expected:
    dtype = coarsest(given)
    names = list(given)
    exact = run(XP, dict(zip(names, wide([*given.values()]), strict=True)))
    moves = {name: np.zeros(np.shape(value)) for name, value in exact.items()}
    for number in range(MOVES):
        noise = Noise(number, dtype)
        values = dict(zip(names, moved(tuple(given.values()), noise), strict=True))
        for name, value in run(RoundedNamespace(noise), values).items():
            moves[name] = np.maximum(moves[name], _distance(value, exact[name]))
    arrays = {name: np.asarray(value) for name, value in exact.items()}
    bounds = {}
    for name, value in arrays.items():
        largest = float(np.max(np.abs(value), where=np.isfinite(value), initial=0))
        more = moves[name] + FORMATS[dtype].eps * largest
        bounds[name] = allowed(value, more, dtype, operations)
    return Expected(arrays, bounds, dtype)


def _distance(a: Any, b: Any) -> np.ndarray:
    apart = absolute(np.asarray(a), np.asarray(b))
    return np.where(np.isfinite(apart), apart, 0.0)
