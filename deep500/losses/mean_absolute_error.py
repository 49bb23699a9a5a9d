"""Absolute error."""

from ..contracts.loss import Loss
from ..contracts.network import Network


class MeanAbsoluteError(Loss):
    """The mean of absolute differences over all elements of a batch."""

    def add(self, network: Network, prediction: str, target: str) -> str:
        difference = network.add_node("Sub", (prediction, target))
        size = network.add_node("Abs", (difference,))
        return network.add_node("ReduceMean", (size,), ["loss"], name="loss", keepdims=0)
