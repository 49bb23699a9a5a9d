"""Inputs for any network: floats drawn at random, whole numbers that the nodes they reach can use."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from ...contracts.network import Network, Node
from ...contracts.operator import Tensor
from ...contracts.specialising import Mode, Specialiser, is_open
from .shapes import value_specs

DEFAULT_BOUND = (
    2  # of whole numbers that index nothing: 0 and 1 mean something to most operators
)


def random_inputs(
    network: Network, tensors: Mapping[str, Tensor], seed: int = 0
) -> dict[str, np.ndarray]:
    """An array for every input: normal floats; whole numbers below what they are used to index."""
    rng = np.random.default_rng(seed)
    bounds = _bounds(network, tensors)
    found = {}
    for name, tensor in tensors.items():
        if "float" in tensor.dtype:
            floats = rng.standard_normal(tensor.shape)
            found[name] = np.asarray(floats).astype(tensor.dtype)
        else:
            numbers = rng.integers(0, bounds.get(name, DEFAULT_BOUND), tensor.shape)
            found[name] = np.asarray(numbers).astype(tensor.dtype)
    return found


def decided_network(network: Network, tensors: Mapping[str, Tensor]) -> Network:
    """The network with constants where values that a run brings decide on it, as random inputs decide."""
    if not is_open(network):
        return network
    values = random_inputs(network, tensors) | network.params
    specialiser = Specialiser(network.outline())
    mode = Mode(derivative=False, training=True)
    return specialiser.specialised(
        tensors, lambda name: np.asarray(values[name]), mode
    ).network


def _bounds(network: Network, tensors: Mapping[str, Tensor]) -> dict[str, int]:
    """How large whole numbers may be, by input: the least that any node on their way allows."""
    specs = value_specs(network, tensors)
    sources = {
        name: {name} for name, tensor in tensors.items() if "int" in tensor.dtype
    }
    bounds: dict[str, int] = defaultdict(lambda: 2**31)
    for node in network.ordered():
        names = node.operator.input_names(len(node.inputs))
        for parameter, value in zip(names, node.inputs, strict=True):
            reached = sources.get(value, set()) if isinstance(value, str) else set()
            if parameter in node.operator.integers:
                limit = _limit(node, specs)
                for source in reached:
                    bounds[source] = min(bounds[source], limit)
            elif reached:
                for output in node.outputs:
                    sources[output] = sources.get(output, set()) | reached
    return dict(bounds)


def _limit(node: Node, specs: Mapping[str, Tensor]) -> int:
    """The length of the axis that a node's indices or labels are for; losses have their classes along axis 1."""
    data = specs.get(str(node.inputs[0]))
    axis = node.operator.settings.get("axis", 1)
    if data is None or not data.shape:
        return DEFAULT_BOUND
    return (
        data.shape[axis % len(data.shape)]
        if abs(axis) <= len(data.shape)
        else DEFAULT_BOUND
    )
