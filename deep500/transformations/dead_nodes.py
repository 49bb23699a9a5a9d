"""Nodes whose results nobody asks for."""

from ..contracts.network import Network
from ..contracts.transformation import Transformation
from ._editing import remove_unused_constants, wanted_values


class DeadNodes(Transformation):
    """Removes nodes that no output and no running statistic needs, and constants that no node takes.

    Trained parameters stay, even unused ones.
    """

    def apply(self, network: Network) -> None:
        live_nodes, _ = network.part(wanted_values(network))
        live = {node.name for node in live_nodes}
        for node in network.nodes:
            if node.name not in live:
                network.remove_node(node.name)
        remove_unused_constants(network)
