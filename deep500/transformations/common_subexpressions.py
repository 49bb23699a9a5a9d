"""Removes nodes that compute what another node has computed already."""

from collections.abc import Hashable

from ..contracts.network import Network, Node
from ..contracts.transformation import Transformation
from ._editing import constants, remove_unused_constants, required_values


class CommonSubexpressions(Transformation):
    """Removes a node that has the operator and the inputs of an earlier one; constants of equal values are merged.

    Random nodes stay, and nodes that compute an output of the network. Trained parameters of equal values stay
    separate.
    """

    def apply(self, network: Network) -> None:
        _merge_constants(network)
        required = required_values(network)
        first: dict[Hashable, Node] = {}
        names = [node.name for node in network.ordered()]
        for name in names:
            node = network.node(name)  # with the inputs that it has by now
            key = _key(node)
            if key is None:
                continue
            earlier = first.setdefault(key, node)
            if earlier is node or not required.isdisjoint(node.outputs):
                continue
            for old, new in zip(node.outputs, earlier.outputs, strict=True):
                network.rewire(old, new)
            network.remove_node(name)
        remove_unused_constants(network)


def _key(node: Node) -> Hashable | None:
    """A key that is equal for nodes that compute the same; None for a random node and for unhashable inputs.

    Values are compared as numbers and as texts, since 0.0 equals -0.0, and 1 equals True.
    """
    if node.operator.random:
        return None
    key = (
        node.operator,
        node.inputs,
        len(node.outputs),
        repr(node.operator),
        repr(node.inputs),
    )
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _merge_constants(network: Network) -> None:
    required = required_values(network)
    first: dict[Hashable, str] = {}
    for name in constants(network):
        array = network.params[name]
        key = (str(array.dtype), array.shape, array.tobytes())
        earlier = first.setdefault(key, name)
        if earlier != name and name not in required:
            network.rewire(name, earlier)
