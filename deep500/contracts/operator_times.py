"""The nodes of a network one by one, each alone on its framework, with the values that it gets in the network."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import Deep500Error
from .calls import Call
from .executor import Executor
from .graph import Node

Visit = Callable[[Node, str, Call], Any]


@dataclass(frozen=True)
class NodeCalls:
    """One node, ready to be repeated: forward, and backward where it has a derivative that is needed."""

    node: Node
    kernel: str  # native or composed
    forward: Call
    backward: Call | None


def node_calls(
    executor: Executor, inputs: Mapping[str, Any], training: bool = False, y: str = "loss"
) -> list[NodeCalls]:
    """Every node as a call of its own, by the kernel that the executor chooses for it.

    Values between nodes are made once, by these calls; each call keeps its own inputs.
    """
    executor.keyed(inputs)  # decides what only values decide on
    structure = executor.structure
    outputs = [y] if training else structure.computable(inputs)
    nodes, _ = structure.part(outputs, training)
    array = executor.framework.array
    values = {name: np.asarray(array(value)) for name, value in inputs.items()}
    values |= executor.arrays()
    varying = set(structure.trainable)
    found = []
    for node in nodes:
        arrays = [values.get(i) if isinstance(i, str) else i for i in node.inputs]
        arrays = arrays[: len(node.operator.inputs)] if node.operator.random else arrays
        made, results = _node(
            executor, node, arrays, training and not varying.isdisjoint(node.inputs)
        )
        if not varying.isdisjoint(node.inputs):
            varying.update(node.outputs)
        values |= zip(node.outputs, results, strict=False)
        found.append(made)
    return found


def _node(
    executor: Executor, node: Node, inputs: Sequence[Any], derive: bool
) -> tuple[NodeCalls, list[np.ndarray]]:
    framework, operator = executor.framework, node.operator
    word = executor.choose(node, node.inputs)[1]
    forward = framework.forward_call(operator, inputs, word)
    results = forward.run()
    backward = None
    if derive and operator.differentiable:
        seeds = [np.ones_like(y) if y.dtype.kind == "f" else None for y in results]
        backward = _backward(executor, node, inputs, seeds, word)
    return NodeCalls(node, word, forward, backward), results


def _backward(
    executor: Executor, node: Node, inputs: Sequence[Any], seeds: Sequence[Any], word: str
) -> Call | None:
    """By the framework's own derivative, or by our formula where it has none."""
    for kernel in dict.fromkeys((word, "composed")):
        try:
            call = executor.framework.backward_call(node.operator, inputs, seeds, kernel)
            call.run()
            return call
        except Deep500Error:
            continue
    return None
