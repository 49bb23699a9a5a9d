"""Measured memory of a network: the most bytes that an allocator has handed out at once."""

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
    compile: bool = False,
) -> int:
    """Of the second training step, parameters, state and inputs included."""

    def build() -> Callable[[], Any]:
        own = {name: value.copy() for name, value in inputs.items()}
        step = framework.executor(network, compile=compile).training_step(optimizer, y)
        return lambda: step(own)

    return _peak(framework, build)


def measured_inference(
    framework: Framework,
    network: Network,
    inputs: Mapping[str, np.ndarray],
    compile: bool = False,
) -> int:
    """Of the second inference, parameters and inputs included."""

    def build() -> Callable[[], Any]:
        own = {name: value.copy() for name, value in inputs.items()}
        executor = framework.executor(network, compile=compile)
        return lambda: executor.inference(own)

    return _peak(framework, build)


def _peak(framework: Framework, build: Build) -> int:
    build()()  # what is loaded and compiled once is not counted
    with framework.allocations() as seen:
        run = build()
        run()
        seen.mark()
        run()
    return seen.peak
