"""A part of a network between named values, as a network of its own: a stage of a pipeline, or a single node."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import Deep500Error
from .graph import Node
from .operator import Tensor

if TYPE_CHECKING:
    from .network import Network

Shape = Sequence[int | str]


def fill(
    part: "Network",
    network: "Network",
    cut: Sequence[str],
    outputs: Sequence[str],
    shapes: Mapping[str, Shape],
) -> None:
    """Put what makes `outputs` from the values `cut` into `part`, an empty network. Arrays are shared."""
    nodes = _between(network, {*cut}, {*outputs})
    made = {value for node in nodes for value in node.outputs}
    used = {*outputs}.union(*(node.values for node in nodes))
    _check_used(network, cut, outputs, used)
    own_inputs = [name for name in network.inputs if name in used and name not in cut]
    specs = network.specs()
    for name in (*cut, *own_inputs):
        spec = _spec(name, network.inputs.get(name) or specs.get(name), shapes)
        part.add_input(name, spec.shape, spec.dtype)
    part.params = {
        n: p for n, p in network.params.items() if n in used and n not in cut
    }
    part.nodes = nodes
    part.outputs = [*outputs]
    part.trainable = [name for name in network.trainable if name in part.params]
    for param, value in network.state_updates.items():
        if value in made and param in part.params:
            part.state_updates[param] = value


def _check_used(
    network: "Network", cut: Sequence[str], outputs: Sequence[str], used: set[str]
) -> None:
    """Refuse a cut behind the outputs; an input of the network itself may stay unused."""
    for name in cut:
        if name not in used and network.producer(name):
            wanted = ", ".join(map(repr, outputs))
            raise Deep500Error(
                f"{wanted} can be computed without {name!r}: cut at values that the outputs depend on"
            )


def _between(network: "Network", cut: set[str], outputs: set[str]) -> list[Node]:
    """The nodes, in order, that the outputs need when the cut values are there."""
    wanted = outputs - cut
    nodes = []
    for node in reversed(network.ordered()):
        if not wanted.isdisjoint(node.outputs):
            wanted |= node.values - cut
            nodes.append(node)
    return nodes[::-1]


def _spec(name: str, spec: Tensor | None, shapes: Mapping[str, Shape]) -> Tensor:
    if name in shapes:
        return Tensor(tuple(shapes[name]), spec.dtype if spec else "float32")
    if spec is None:
        raise Deep500Error(
            f"the shape of {name!r} cannot be told before a run: give it, "
            f"inputs={{{name!r}: ('batch', ...)}}"
        )
    return spec
