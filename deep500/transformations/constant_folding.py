"""Nodes that compute the same in every run."""

from typing import Any

import numpy as np

from ..contracts.network import Network, Node
from ..contracts.operator import Tensor
from ..contracts.transformation import Transformation
from ..errors import Deep500Error
from ..frameworks import evaluate
from ._editing import constants, remove_unused_constants, wanted_values


class ConstantFolding(Transformation):
    """Computes nodes whose inputs are constants, and makes their results constants; also shapes that are known.

    A trained parameter or a running statistic is no constant. Random nodes, nodes that differ in training, outputs of
    the network and results of more than `largest` elements are left as they are.
    """

    largest: int = 1 << 20

    def apply(self, network: Network) -> None:
        specs = network.specs()
        known = set(constants(network))
        for node in network.ordered():
            inputs = _constant_inputs(network, node, known, specs)
            if inputs is None or not self._may_fold(network, node, specs):
                continue
            try:
                results = evaluate(node.operator, inputs)
            except Deep500Error:  # for whoever runs the network to report
                continue
            network.remove_node(node.name)
            for name, result in zip(node.outputs, results, strict=False):
                network.add_param(name, np.asarray(result), trainable=False)
                known.add(name)
        remove_unused_constants(network)

    def _may_fold(self, network: Network, node: Node, specs: dict[str, Tensor]) -> bool:
        operator = node.operator
        in_training = (
            "training_mode" in operator.static or "training_mode" in operator.settings
        )
        if operator.random or in_training:
            return False
        if not wanted_values(network).isdisjoint(node.outputs):
            return False
        sizes = [specs[name].size for name in node.outputs if name in specs]
        return len(sizes) == len(node.outputs) and max(sizes) <= self.largest


def _constant_inputs(
    network: Network, node: Node, known: set[str], specs: dict[str, Tensor]
) -> list[Any] | None:
    """The inputs as arrays; None if one of them is not known before a run."""
    if type(node.operator).__name__ in ("Shape", "Size"):
        return _shape_input(node, specs)
    inputs = []
    for value in node.inputs:
        if isinstance(value, str) and value not in known:
            return None
        inputs.append(network.params[value] if isinstance(value, str) else value)
    return inputs


def _shape_input(node: Node, specs: dict[str, Tensor]) -> list[Any] | None:
    """An array of the input's shape that takes no memory: Shape and Size look at nothing else."""
    spec = specs.get(str(node.inputs[0]))
    if spec is None or not all(isinstance(size, int) for size in spec.shape):
        return None
    return [np.broadcast_to(np.zeros((), spec.dtype), spec.shape)]
