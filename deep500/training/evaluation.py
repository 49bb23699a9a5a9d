"""How good a network is on a split: the qualities of a task, over every example once."""

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ..contracts.dataset import Split
from ..contracts.framework import Framework
from ..contracts.task import Task
from ..errors import Deep500Error


class Predictor(Protocol):
    """An executor, or a procedure over several of them."""

    @property
    def framework(self) -> Framework: ...

    def inference(self, inputs: Mapping[str, Any]) -> dict[str, Any]: ...


def evaluate(
    predictor: Predictor, task: Task, split: Split, batch_size: int
) -> dict[str, float]:
    """The qualities by name. Sums are exact, so that the size of the batches changes nothing but the predictions."""
    return qualities_of(task, measured_elements(predictor, task, split, batch_size))


def measured_elements(
    predictor: Predictor, task: Task, split: Split, batch_size: int
) -> dict[str, np.ndarray]:
    """What the task measures of every example of the split, by name."""
    parts: dict[str, list[np.ndarray]] = {}
    for start in range(0, len(split), batch_size):
        batch = split.batch(slice(start, start + batch_size))
        outputs = predictor.inference(batch)
        arrays = {
            name: predictor.framework.array(outputs[name]) for name in task.reads()
        }
        for name, values in task.measure(arrays, batch).items():
            if (
                np.ndim(values) == 0
            ):  # a mean of batches that differ in size would be wrong
                raise Deep500Error(
                    f"the task {type(task).__name__} measures one {name!r} for a whole batch: `measure` "
                    "returns an array with a number for each example"
                )
            parts.setdefault(name, []).append(np.ravel(values))
    return {name: np.concatenate(values) for name, values in parts.items()}


def qualities_of(task: Task, elements: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The qualities that follow from what was measured of every example."""
    means = {name: _mean(values) for name, values in elements.items()}
    return {name: float(value) for name, value in task.evaluate(means).items()}


def _mean(values: np.ndarray) -> float:
    """Rounded once, whatever the order of the values; not a number if one of them is not finite."""
    if not np.isfinite(values).all():
        return math.nan
    return math.fsum(values) / len(values)
