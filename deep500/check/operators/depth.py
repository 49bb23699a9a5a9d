"""How many operations are behind an element of an output: rounding errors add up along them."""

from collections.abc import Sequence

import numpy as np

from ...contracts.operator import Operator
from .examples import XP, Example
from .formats import Array, wide
from .once import once

PROBES = 8  # elements of every input whose influence is followed
MANY = 10_000  # an input of this many elements is large
FEW = 2  # probes of a large input


def depth(example: Example) -> float:
    """The operations of one call: as the operator says, or from how many outputs an input element reaches."""
    if example.operations is not None:
        return example.operations
    return _depth(example)[0]


@once
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
