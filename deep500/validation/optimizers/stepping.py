"""Runs the steps of an optimizer on a framework, along prescribed gradients."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...training.given_gradients import Arrays, batch_of, fed_executor


def trajectory(
    name: str,
    optimizer: Any,
    start: Arrays,
    gradients: Sequence[Arrays],
    dtype: str,
) -> list[dict[str, np.ndarray]]:
    """The parameters after every step on a framework."""
    executor = fed_executor(name, start, dtype)
    step = executor.training_step(optimizer)
    path = []
    for step_gradients in gradients:
        step(batch_of(step_gradients, dtype))
        path.append(executor.arrays())
    return path
