"""An optimizer's steps as a framework does them, along gradients that are given to it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...training.given_gradients import Arrays, batch_of, fed_executor


def trajectory(
    name: str, optimizer: Any, start: Arrays, gradients: Sequence[Arrays], dtype: str
) -> list[dict[str, np.ndarray]]:
    """The parameters after every step on a framework."""
    executor = fed_executor(name, start, dtype)
    step = executor.training_step(optimizer)
    path = []
    for given in gradients:
        step(batch_of(given, dtype))
        path.append(executor.arrays())
    return path
