"""Squared error."""

from ..contracts.loss import Loss
from ..contracts.network import Network


class MeanSquaredError(Loss):
    """The mean of squared differences over all elements of a batch."""

    def add(self, network: Network, prediction: str, target: str) -> str:
        difference = network.add_node("Sub", (prediction, target))
        square = network.add_node("Mul", (difference, difference))
        return network.add_node("ReduceMean", (square,), ["loss"], name="loss", keepdims=0)
