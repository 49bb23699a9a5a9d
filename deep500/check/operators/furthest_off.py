"""Which arrays of a check are drawn: those of the example that is furthest off."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import raise_if_mistake
from .differences import absolute
from .examples import Example
from .formats import Array
from .runner import Runner

RUNS = 10


@dataclass(frozen=True)
class FurthestOutputs:
    """The first output of an example, what it should be, and that output of several runs."""

    name: str
    got: Array
    want: Array
    runs: Array


def furthest_off(
    runner: Runner, examples: Sequence[Example], dtype: str
) -> FurthestOutputs | None:
    """The arrays of the worst example in this dtype; None if no run gave an output of the right shape."""
    worst = None
    worst_output = None
    largest = -1.0
    for example in examples:
        same = example.cast(dtype)
        output = _first_output(runner, same)
        if output is None or not output.size:
            continue
        want = same.outputs[0]
        if output.shape != want.shape:
            continue
        largest_difference = np.max(absolute(output, want))
        off = float(np.nan_to_num(largest_difference, nan=np.inf))
        if off > largest:
            worst = same
            worst_output = output
            largest = off
    if worst is None or worst_output is None:
        return None
    runs = []
    for _ in range(RUNS):
        outputs = runner.run(worst.operator, worst.inputs)
        runs.append(outputs[0])
    stacked = np.stack(runs).astype("float64")
    return FurthestOutputs(worst.name, worst_output, worst.outputs[0], stacked)


def _first_output(runner: Runner, example: Example) -> Array | None:
    try:
        outputs = runner.run(example.operator, example.inputs)
        return np.asarray(outputs[0])
    except Exception as error:  # the report has it already
        raise_if_mistake(error)
        return None
