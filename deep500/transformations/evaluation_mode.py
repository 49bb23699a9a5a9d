"""A network for inference only."""

from ..contracts.network import Network
from ..contracts.transformation import Transformation
from ..graph.graph import in_evaluation


class EvaluationMode(Transformation):
    """Puts every node into evaluation mode: normalisation by running statistics, which stay fixed, and no dropout.

    The result computes what the network computes in inference; it is not meant to be trained.
    """

    def apply(self, network: Network) -> None:
        network.state_updates.clear()
        for node in network.nodes:
            network.replace_node(node.name, in_evaluation(node))
