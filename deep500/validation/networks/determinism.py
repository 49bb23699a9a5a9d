"""Which operators of a network do not give the same bits twice, on one framework, from the same inputs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...contracts.executor import Executor
from ...contracts.framework import Framework
from ...contracts.network import Network

REPEATS = 4


def unstable_operators(
    adapter: Framework,
    network: Network,
    batch: Mapping[str, np.ndarray],
    repeats: int = REPEATS,
    **options: Any,
) -> list[str]:
    """The nodes whose outputs differ between repetitions although their inputs do not, and parameters whose
    gradients do, in the order of the network.

    Every repetition has an executor of its own. An operator that draws random numbers draws the same ones.
    """
    open_network = _with_all_outputs(network)
    first: dict[str, bytes] = {}
    unstable: set[str] = set()
    for _ in range(repeats):
        bits = _bits(adapter.executor(open_network, **options), batch)
        for name, value in bits.items():
            if first.setdefault(name, value) != value:
                unstable.add(name)
    return _named(network, unstable)


def _with_all_outputs(network: Network) -> Network:
    """A copy in which every value that a node makes is an output."""
    twin = network.copy()
    for node in network.nodes:
        for name in node.outputs:
            if name and name not in twin.outputs:
                twin.add_output(name)
    return twin


def _bits(executor: Executor, batch: Mapping[str, np.ndarray]) -> dict[str, bytes]:
    """The bits of every value, and of every gradient where the network has a loss."""
    array = executor.framework.array
    if "loss" not in executor.structure.outputs:
        outputs = executor.inference(batch)
        return {name: array(value).tobytes() for name, value in outputs.items()}
    outputs = executor.inference_and_backprop(batch)
    bits = {name: array(value).tobytes() for name, value in outputs.items()}
    for name, gradient in executor.gradients.items():
        bits[f"gradient of {name}"] = array(gradient).tobytes()
    return bits


def _named(network: Network, unstable: set[str]) -> list[str]:
    """The operators that turned stable inputs into unstable outputs, in words."""
    names = []
    for node in network.nodes:
        makes = any(name in unstable for name in node.outputs)
        takes = any(name in unstable for name in node.inputs)
        if makes and not takes:
            names.append(f"{type(node.operator).__name__} ({node.name})")
    if names:
        return names  # gradients behind them differ, too
    for node in network.nodes:
        for name in node.inputs:
            if f"gradient of {name}" in unstable:
                names.append(
                    f"the gradient of {type(node.operator).__name__} ({node.name})"
                )
    return list(dict.fromkeys(names))
