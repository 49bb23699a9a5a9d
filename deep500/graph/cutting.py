"""Cuts a part of a network between named values, such as a stage of a pipeline or a single node, into a new network."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..contracts.operator import TensorSpec
from ..errors import Deep500Error
from .graph import Node

if TYPE_CHECKING:
    from ..contracts.network import Network

Shape = Sequence[int | str]


def fill(
    part: "Network",
    network: "Network",
    cut: Sequence[str],
    outputs: Sequence[str],
    shapes: Mapping[str, Shape],
) -> None:
    """Fill `part`, an empty network, with the nodes that compute `outputs` from the values `cut`. Arrays are shared."""
    nodes = _between(network, {*cut}, {*outputs})
    computed: set[str] = set()
    used = {*outputs}
    for node in nodes:
        computed.update(node.outputs)
        used |= node.values
    _check_used(network, cut, outputs, used)
    remaining = used.difference(cut)
    network_inputs = [name for name in network.inputs if name in remaining]
    specs = network.specs()
    for name in (*cut, *network_inputs):
        inferred = network.inputs.get(name) or specs.get(name)
        spec = _spec(name, inferred, shapes)
        part.add_input(name, spec.shape, spec.dtype)
    params = network.params
    part.params = {name: params[name] for name in params if name in remaining}
    part.nodes = nodes
    part.outputs = [*outputs]
    part.trainable = [name for name in network.trainable if name in part.params]
    for param, value in network.state_updates.items():
        if value in computed and param in part.params:
            part.state_updates[param] = value


def _check_used(
    network: "Network",
    cut: Sequence[str],
    outputs: Sequence[str],
    used: set[str],
) -> None:
    """Raise a Deep500Error if the outputs do not depend on a cut value; inputs of the network may stay unused."""
    for name in cut:
        if name not in used and network.producer(name):
            names = ", ".join(map(repr, outputs))
            raise Deep500Error(
                f"{names} can be computed without {name!r}: cut at values that the outputs depend on"
            )


def _between(network: "Network", cut: set[str], outputs: set[str]) -> list[Node]:
    """The nodes, in order, that the outputs need in addition to the cut values."""
    needed = outputs - cut
    nodes = []
    for node in reversed(network.ordered()):
        if not needed.isdisjoint(node.outputs):
            needed |= node.values - cut
            nodes.append(node)
    nodes.reverse()
    return nodes


def _spec(
    name: str, spec: TensorSpec | None, shapes: Mapping[str, Shape]
) -> TensorSpec:
    """Shape and dtype of an input of the part: from `shapes` if it is there, else as inferred."""
    if name in shapes:
        dtype = spec.dtype if spec else "float32"
        return TensorSpec(tuple(shapes[name]), dtype)
    if spec is None:
        raise Deep500Error(
            f"the shape of {name!r} cannot be told before a run: give it, "
            f"inputs={{{name!r}: ('batch', ...)}}"
        )
    return spec
