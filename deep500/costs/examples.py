"""Inputs for any network: random floats, and integers in the range that the nodes they reach can index."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..contracts.network import Network, Node
from ..contracts.operator import TensorSpec
from ..graph.specializing import RunMode, Specializer, is_open
from .shapes import value_specs

# integers that index nothing lie below it: 0 and 1 are valid for most operators
DEFAULT_BOUND = 2


def random_inputs(
    network: Network, tensors: Mapping[str, TensorSpec], seed: int = 0
) -> dict[str, np.ndarray]:
    """An array for every input: normally distributed floats; integers below the size of the axis that they index."""
    rng = np.random.default_rng(seed)
    bounds = _bounds(network, tensors)
    inputs = {}
    for name, tensor in tensors.items():
        drawn: Any
        if "float" in tensor.dtype:
            drawn = rng.standard_normal(tensor.shape)
        else:
            bound = bounds.get(name, DEFAULT_BOUND)
            drawn = rng.integers(0, bound, tensor.shape)
        inputs[name] = np.asarray(drawn).astype(tensor.dtype)
    return inputs


def decided_network(network: Network, tensors: Mapping[str, TensorSpec]) -> Network:
    """The network with its value-dependent parts fixed to what random inputs give; itself if it has none."""
    if not is_open(network):
        return network
    values = random_inputs(network, tensors) | network.params
    specializer = Specializer(network.outline())
    mode = RunMode(derivative=False, training=True)

    def value_of(name: str) -> np.ndarray:
        return np.asarray(values[name])

    return specializer.specialized(tensors, value_of, mode).network


def _bounds(network: Network, tensors: Mapping[str, TensorSpec]) -> dict[str, int]:
    """The exclusive upper bound of every integer input: the smallest that any node it reaches allows."""
    specs = value_specs(network, tensors)
    # the integer inputs that a value comes from
    sources: dict[str, set[str]] = {}
    for name, tensor in tensors.items():
        if "int" in tensor.dtype:
            sources[name] = {name}
    bounds: dict[str, int] = defaultdict(lambda: 2**31)
    for node in network.ordered():
        names = node.operator.input_names(len(node.inputs))
        for parameter, value in zip(names, node.inputs, strict=True):
            if not isinstance(value, str):
                continue
            origins = sources.get(value, set())
            if parameter in node.operator.integers:
                limit = _limit(node, specs)
                for source in origins:
                    bounds[source] = min(bounds[source], limit)
            elif origins:
                for output in node.outputs:
                    sources[output] = sources.get(output, set()) | origins
    return dict(bounds)


def _limit(node: Node, specs: Mapping[str, TensorSpec]) -> int:
    """The size of the axis that a node's indices or labels refer to; the classes of a loss are along axis 1."""
    data = specs.get(str(node.inputs[0]))
    axis = node.operator.settings.get("axis", 1)
    if data is None or not data.shape:
        return DEFAULT_BOUND
    rank = len(data.shape)
    if abs(axis) > rank:
        return DEFAULT_BOUND
    return data.shape[axis % rank]
