"""Undoes constant folding in one of two networks: a weight that the other one computes from its parameters.

An optimiser that evaluates the transpose of a weight stores the result under the name of the value. Without the node,
a weight that is used twice is two, each with a part of the gradient.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...contracts.network import Network, Node
from ...graph.folding import on_host
from ...graph.weights import listed


def unfold_weights(network: Network, model: Network) -> tuple[Network, list[str]]:
    """The network with the nodes of the model that compute its folded weights, and remarks on these.

    A parameter was folded if the model computes a value of the same name and the same bits from trained parameters,
    which the network has as well or not at all, and from constants.
    """
    folded = {}
    for name in network.params:
        nodes = _computing_nodes(network, model, name)
        if nodes and _computes(nodes, network, model, name):
            folded[name] = nodes
    if not folded:
        return network, []
    twin = network.copy()
    for name, nodes in folded.items():
        del twin.params[name]
        if name in twin.trainable:
            twin.trainable.remove(name)
        _add_parameters(twin, model, nodes)
        present = {node.name for node in twin.nodes}
        missing = [node for node in nodes if node.name not in present]
        twin.nodes = (*missing, *twin.nodes)
    remark = f"computed ahead of time in one of the networks, and here from its parameters again: {listed(folded)}"
    return twin, [remark]


def _computing_nodes(network: Network, model: Network, name: str) -> Sequence[Node]:
    """The model's nodes that compute this value of trained parameters; none if they need more, or clash with others."""
    if model.producer(name) is None:
        return []
    nodes, inputs = model.part([name])
    if inputs or any(node.operator.random for node in nodes):
        return []
    node_names = {node.name for node in network.nodes}
    computed = {*network.inputs}
    for node in network.nodes:
        computed.update(node.outputs)
    needed = {*_parameters(nodes, model)}
    if needed.isdisjoint(model.trainable):
        return []
    for node in nodes:
        if node.name in node_names:
            return []
        needed.update(node.outputs)
    return nodes if computed.isdisjoint(needed) else []


def _computes(
    nodes: Sequence[Node], network: Network, model: Network, name: str
) -> bool:
    """Whether these nodes, on the model's parameters, give the network's parameter bit by bit."""
    values: dict[str, Any] = {}
    for parameter in _parameters(nodes, model):
        values[parameter] = model.params[parameter]
        own = network.params.get(parameter)
        if own is not None and not _same_bits(own, values[parameter]):
            return False
    for node in nodes:
        inputs = [
            values[value] if isinstance(value, str) else value for value in node.inputs
        ]
        results = on_host(node.operator, inputs)
        values.update(zip(node.outputs, results, strict=False))
    return _same_bits(network.params[name], values[name])


def _parameters(nodes: Sequence[Node], model: Network) -> list[str]:
    """The parameters of the model that these nodes take."""
    names: dict[str, None] = {}
    for node in nodes:
        for value in node.inputs:
            if isinstance(value, str) and value in model.params:
                names[value] = None
    return list(names)


def _add_parameters(network: Network, model: Network, nodes: Sequence[Node]) -> None:
    """Give the network the parameters of these nodes that it lacks."""
    for name in _parameters(nodes, model):
        if name not in network.params:
            is_trained = name in model.trainable
            network.add_param(name, model.params[name], is_trained)


def _same_bits(array: np.ndarray, other: np.ndarray) -> bool:
    same_type = array.dtype == other.dtype
    return same_type and np.array_equal(array, other, equal_nan=True)
