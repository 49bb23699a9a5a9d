"""Finds the operators of a network that do not give the same bits twice, on one framework, from the same inputs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...contracts.executor import Executor
from ...contracts.framework import Framework
from ...contracts.network import Network, Node

REPEATS = 4


def unstable_operators(
    adapter: Framework,
    network: Network,
    batch: Mapping[str, np.ndarray],
    repeats: int = REPEATS,
    **options: Any,
) -> list[str]:
    """The nodes whose outputs differ between repetitions although their inputs do not; if there are none, the nodes
    with an input whose gradient differs. Both are in the order of the network.

    Every repetition has a new executor. An operator that draws random numbers draws the same ones each time.
    """
    open_network = _with_all_outputs(network)
    first: dict[str, bytes] = {}
    unstable: set[str] = set()
    for _ in range(repeats):
        executor = adapter.executor(open_network, **options)
        bits = _bits(executor, batch)
        for name, value in bits.items():
            if first.setdefault(name, value) != value:
                unstable.add(name)
    return _unstable_nodes(network, unstable)


def _with_all_outputs(network: Network) -> Network:
    """A copy in which every value that a node makes is an output."""
    twin = network.copy()
    for node in network.nodes:
        for name in node.outputs:
            if name and name not in twin.outputs:
                twin.add_output(name)
    return twin


def _bits(executor: Executor, batch: Mapping[str, np.ndarray]) -> dict[str, bytes]:
    """The bits of every value, and of every gradient if the network has a loss."""
    array = executor.framework.array
    has_loss = "loss" in executor.structure.outputs
    run = executor.inference_and_backprop if has_loss else executor.inference
    bits = {}
    for name, value in run(batch).items():
        bits[name] = array(value).tobytes()
    if not has_loss:
        return bits
    for name, gradient in executor.gradients.items():
        bits[f"gradient of {name}"] = array(gradient).tobytes()
    return bits


def _unstable_nodes(network: Network, unstable: set[str]) -> list[str]:
    """The operators and names of the nodes that turned stable inputs into unstable outputs."""
    labels = []
    for node in network.nodes:
        unstable_output = any(name in unstable for name in node.outputs)
        unstable_input = any(name in unstable for name in node.inputs)
        if unstable_output and not unstable_input:
            labels.append(_label(node))
    if labels:
        return labels  # the gradients that follow from them differ as well
    for node in network.nodes:
        for name in node.inputs:
            if f"gradient of {name}" in unstable:
                labels.append(f"the gradient of {_label(node)}")
    return list(dict.fromkeys(labels))


def _label(node: Node) -> str:
    operator = type(node.operator).__name__
    return f"{operator} ({node.name})"
