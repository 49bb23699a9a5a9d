"""Which arrays of a check are drawn: those of the example that is furthest off."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .differences import absolute
from .examples import Example

RUNS = 10


@dataclass(frozen=True)
class Pictured:
    """The first output of an example, what it should be, and the same of several runs."""

    name: str
    got: np.ndarray
    want: np.ndarray
    runs: np.ndarray


def furthest_off(dock: Any, examples: Sequence[Example], dtype: str) -> Pictured | None:
    """None where no run gave an output of the right shape."""
    chosen, worst = None, -1.0
    for example in examples:
        same = example.cast(dtype)
        got = _first_output(dock, same)
        if got is None or not got.size or got.shape != same.outputs[0].shape:
            continue
        off = float(np.nan_to_num(np.max(absolute(got, same.outputs[0])), nan=np.inf))
        if off > worst:
            chosen, worst = (same, got), off
    if chosen is None:
        return None
    example, got = chosen
    runs = [dock.run(example.operator, example.inputs)[0] for _ in range(RUNS)]
    return Pictured(
        example.name, got, example.outputs[0], np.stack(runs).astype("float64")
    )


def _first_output(dock: Any, example: Example) -> np.ndarray | None:
    try:
        return np.asarray(dock.run(example.operator, example.inputs)[0])
    except Exception:  # the report has told it already
        return None
