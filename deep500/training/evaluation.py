"""Evaluates the qualities of a task over all examples of a split."""

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
    predictor: Predictor,
    task: Task,
    split: Split,
    batch_size: int,
    split_name: str = "",
) -> dict[str, float]:
    """The qualities by name. Sums are exact, so the batch size has no influence beyond that on the predictions."""
    elements = measured_elements(predictor, task, split, batch_size, split_name)
    return qualities_of(task, elements)


def measured_elements(
    predictor: Predictor,
    task: Task,
    split: Split,
    batch_size: int,
    split_name: str = "",
) -> dict[str, np.ndarray]:
    """The values that the task measures for each example of the split, by name."""
    array = predictor.framework.array
    parts: dict[str, list[np.ndarray]] = {}
    for start in range(0, len(split), batch_size):
        rows = np.arange(start, min(start + batch_size, len(split)))
        batch = split.batch(slice(start, start + batch_size))
        split.check_batch(batch, rows, split_name)
        outputs = predictor.inference(batch)
        arrays = {name: array(outputs[name]) for name in task.reads()}
        for name, values in task.measure(arrays, batch).items():
            # the mean over batches of different sizes would be wrong
            if np.ndim(values) == 0:
                raise Deep500Error(
                    f"the task {type(task).__name__} measures one {name!r} for a whole batch: `measure` "
                    "returns an array with a number for each example"
                )
            parts.setdefault(name, []).append(np.ravel(values))
    return {name: np.concatenate(values) for name, values in parts.items()}


def qualities_of(task: Task, elements: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The qualities computed from the values measured for each example."""
    means = {name: _mean(values) for name, values in elements.items()}
    return {name: float(value) for name, value in task.evaluate(means).items()}


def _mean(values: np.ndarray) -> float:
    """The mean, rounded once, so that the order of the values does not matter; NaN if one of them is not finite."""
    if not np.isfinite(values).all():
        return math.nan
    return math.fsum(values) / len(values)
