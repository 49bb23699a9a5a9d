"""Binary cross-entropy."""

from ..contracts.loss import Loss
from ..contracts.network import Network


class BinaryCrossEntropy(Loss):
    """The mean of log(1 + exp(score)) - label * score; a label is 0, 1 or a probability between them."""

    target_name = "label"

    def add(self, network: Network, prediction: str, target: str) -> str:
        confidence = network.add_node("Softplus", (prediction,))
        agreement = network.add_node("Mul", (prediction, target))
        losses = network.add_node("Sub", (confidence, agreement))
        return network.add_node(
            "ReduceMean", (losses,), ["loss"], name="loss", keepdims=0
        )
