"""Runs the steps of an optimizer on a framework, along prescribed gradients or along those of a problem."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...training.given_gradients import Arrays, batch_of, fed_executor
from .problems import TrainingProblem


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


def followed(
    name: str, optimizer: Any, problem: TrainingProblem, steps: int
) -> tuple[list[dict[str, np.ndarray]], list[dict[str, np.ndarray]]]:
    """The gradients of every step, at the parameters that the optimizer has reached, and the parameters after it."""
    executor = fed_executor(name, problem.start, "float64")
    step = executor.training_step(optimizer)
    params: Arrays = problem.start
    gradients, path = [], []
    for number in range(steps):
        step_gradients = problem.gradient(params, number)
        step(batch_of(step_gradients, "float64"))
        params = executor.arrays()
        gradients.append(step_gradients)
        path.append(dict(params))
    return gradients, path
