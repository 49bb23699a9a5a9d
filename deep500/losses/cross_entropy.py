"""Cross-entropy of classes."""

from ..contracts.loss import Loss
from ..contracts.network import Network


class CrossEntropy(Loss):
    """The mean negative log-probability that softmax gives to the labels."""

    def add(self, network: Network, prediction: str, label: str) -> str:
        return network.add_node(
            "SoftmaxCrossEntropyLoss", (prediction, label), ["loss"], name="loss"
        )
