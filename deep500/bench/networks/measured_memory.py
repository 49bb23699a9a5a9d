"""Measures the memory of a network: the largest number of bytes that were allocated at once."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...contracts.framework import Framework
from ...contracts.network import Network
from ...contracts.optimizer import Optimizer

Build = Callable[[], Callable[[], Any]]


def measured_training(
    framework: Framework,
    network: Network,
    inputs: Mapping[str, np.ndarray],
    optimizer: Optimizer,
    y: str = "loss",
    execution: str = "",
) -> int:
    """The peak bytes of the second training step, including parameters, state and inputs."""

    def build() -> Callable[[], Any]:
        batch = _copies(inputs)
        executor = framework.executor(network, execution=execution)
        step = executor.training_step(optimizer, y)
        return lambda: step(batch)

    return _peak(framework, build)


def measured_inference(
    framework: Framework,
    network: Network,
    inputs: Mapping[str, np.ndarray],
    execution: str = "",
) -> int:
    """The peak bytes of the second inference, including parameters and inputs."""

    def build() -> Callable[[], Any]:
        batch = _copies(inputs)
        executor = framework.executor(network, execution=execution)
        return lambda: executor.inference(batch)

    return _peak(framework, build)


def _copies(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: value.copy() for name, value in inputs.items()}


def _peak(framework: Framework, build: Build) -> int:
    warm_up = build()
    warm_up()  # what is loaded and compiled once is not counted
    del warm_up
    with framework.allocations() as allocations:
        run = build()
        run()
        allocations.mark()
        run()
    return allocations.peak
