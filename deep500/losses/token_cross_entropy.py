"""Cross-entropy of the tokens of sequences."""

from ..contracts.loss import Loss
from ..contracts.network import Network
from ..contracts.operator import TensorSpec


class TokenCrossEntropy(Loss):
    """The mean negative log-probability per token; predictions are (batch, position, token)."""

    def add(self, network: Network, prediction: str, target: str) -> str:
        tokens_second = network.add_node("Transpose", (prediction,), perm=(0, 2, 1))
        return network.add_node(
            "SoftmaxCrossEntropyLoss",
            (tokens_second, target),
            ["loss"],
            name="loss",
        )

    def target(self, prediction: TensorSpec) -> TensorSpec:
        return TensorSpec(prediction.shape[:-1], "int64")
