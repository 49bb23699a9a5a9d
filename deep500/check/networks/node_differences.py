"""How two networks differ at the node that computes a value of both: its operator, attributes, inputs and weights."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...contracts.network import Network, Node
from .divergence import DIFFERENCE


def node_difference(original: Network, other: Network, value: str) -> str:
    """The differences of the two nodes in one sentence; empty if the value is an input, or if the nodes are alike."""
    node = original.producer(value)
    other_node = other.producer(value)
    if node is None or other_node is None:
        return ""
    differences = [
        *_operators(node, other_node),
        *_inputs(node, other_node),
        *_weights(original, other, node, other_node),
    ]
    if not differences:
        return ""
    listed = ", ".join(differences)
    return f"{DIFFERENCE}{node.name!r} {listed}"


def _operators(node: Node, other: Node) -> Iterator[str]:
    kind = type(node.operator).__name__
    other_kind = type(other.operator).__name__
    if kind != other_kind:
        yield _sentence("the operator", kind, other_kind)
        return
    other_settings = other.operator.settings
    for name, setting in node.operator.settings.items():
        if repr(setting) != repr(other_settings.get(name)):
            yield _sentence(f"the attribute {name}", setting, other_settings.get(name))


def _inputs(node: Node, other: Node) -> Iterator[str]:
    """Inputs that are values of their own, such as axes; names of values may differ in two files."""
    names = node.operator.input_names(len(node.inputs))
    pairs = zip(names, node.inputs, other.inputs, strict=False)
    for name, value, other_value in pairs:
        are_names = isinstance(value, str) and isinstance(other_value, str)
        if not are_names and repr(value) != repr(other_value):
            yield _sentence(f"the input {name}", value, other_value)


def _weights(
    original: Network, other: Network, node: Node, other_node: Node
) -> Iterator[str]:
    for name, other_name in zip(node.inputs, other_node.inputs, strict=False):
        weight = original.params.get(name) if isinstance(name, str) else None
        other_weight = None
        if isinstance(other_name, str):
            other_weight = other.params.get(other_name)
        if weight is None or other_weight is None:
            continue
        if weight.shape != other_weight.shape:
            shape, other_shape = weight.shape, other_weight.shape
            yield _sentence(f"the shape of {name!r}", shape, other_shape)
        elif not np.array_equal(weight, other_weight):
            yield f"the weight {name!r} has other numbers"


def _sentence(what: str, value: Any, other: Any) -> str:
    return f"{what} is {value!r} in the first and {other!r} in the second"
