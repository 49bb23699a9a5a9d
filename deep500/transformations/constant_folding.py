"""Replaces nodes that compute the same in every run by constants."""

from typing import Any

import numpy as np

from ..contracts.network import Network, Node
from ..contracts.operator import TensorSpec
from ..contracts.transformation import Transformation
from ..errors import Deep500Error
from ..frameworks import evaluate
from ._editing import constants, remove_unused_constants, required_values


class ConstantFolding(Transformation):
    """Computes nodes whose inputs are constants, and makes their results constants; also shapes that are known.

    Trained parameters and running statistics are no constants. Random nodes, nodes that differ in training, outputs of
    the network and results of more than `largest` elements stay as they are.
    """

    largest: int = 1 << 20

    def apply(self, network: Network) -> None:
        specs = network.specs()
        constant_names = set(constants(network))
        for node in network.ordered():
            inputs = _constant_inputs(network, node, constant_names, specs)
            if inputs is None or not self._may_fold(network, node, specs):
                continue
            try:
                results = evaluate(node.operator, inputs)
            except Deep500Error:  # will be reported when the network is run
                continue
            network.remove_node(node.name)
            for name, result in zip(node.outputs, results, strict=False):
                network.add_param(name, np.asarray(result), trainable=False)
                constant_names.add(name)
        remove_unused_constants(network)

    def _may_fold(
        self, network: Network, node: Node, specs: dict[str, TensorSpec]
    ) -> bool:
        operator = node.operator
        if operator.random:
            return False
        if "training_mode" in operator.static or "training_mode" in operator.settings:
            return False
        if not required_values(network).isdisjoint(node.outputs):
            return False
        sizes = [specs[name].size for name in node.outputs if name in specs]
        return len(sizes) == len(node.outputs) and max(sizes) <= self.largest


def _constant_inputs(
    network: Network,
    node: Node,
    constant_names: set[str],
    specs: dict[str, TensorSpec],
) -> list[Any] | None:
    """The inputs as arrays; None if one of them is not constant."""
    if type(node.operator).__name__ in ("Shape", "Size"):
        return _shape_input(node, specs)
    inputs: list[Any] = []
    for value in node.inputs:
        if not isinstance(value, str):
            inputs.append(value)
        elif value in constant_names:
            inputs.append(network.params[value])
        else:
            return None
    return inputs


def _shape_input(node: Node, specs: dict[str, TensorSpec]) -> list[Any] | None:
    """An array of the input's shape that takes no memory, which is enough for Shape and Size."""
    spec = specs.get(str(node.inputs[0]))
    if spec is None:
        return None
    if not all(isinstance(size, int) for size in spec.shape):
        return None
    zero = np.zeros((), spec.dtype)
    return [np.broadcast_to(zero, spec.shape)]
