"""Removes nodes whose results are not used."""

from ..contracts.network import Network
from ..contracts.transformation import Transformation
from ._editing import remove_unused_constants, required_values


class DeadNodes(Transformation):
    """Removes nodes that no output and no running statistic needs, and constants that no node uses.

    Trained parameters stay, even unused ones.
    """

    def apply(self, network: Network) -> None:
        live_nodes, _ = network.part(required_values(network))
        live_names = {node.name for node in live_nodes}
        for node in network.nodes:
            if node.name not in live_names:
                network.remove_node(node.name)
        remove_unused_constants(network)
