"""A network for inference only."""

from ..contracts.graph import in_evaluation
from ..contracts.network import Network
from ..contracts.transformation import Transformation


class EvaluationMode(Transformation):
    """Every node as it is in evaluation: normalisation by running statistics, no dropout. Nothing moves them any more.

    It computes what the network computes in inference; training it would be another thing.
    """

    def apply(self, network: Network) -> None:
        network.state_updates.clear()
        for node in network.nodes:
            network.replace_node(node.name, in_evaluation(node))
