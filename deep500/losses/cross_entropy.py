"""Cross-entropy of classes."""

from ..contracts.loss import Loss
from ..contracts.network import Network
from ..contracts.operator import Tensor


class CrossEntropy(Loss):
    """The mean negative log-probability that softmax gives to the labels."""

    target_name = "label"

    def add(self, network: Network, prediction: str, target: str) -> str:
        return network.add_node(
            "SoftmaxCrossEntropyLoss", (prediction, target), ["loss"], name="loss"
        )

    def target(self, prediction: Tensor) -> Tensor:
        return Tensor((*prediction.shape[:1], *prediction.shape[2:]), "int64")
