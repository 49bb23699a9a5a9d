"""Cross-entropy of classes."""

from ..contracts.loss import Loss
from ..contracts.network import Network
from ..contracts.operator import TensorSpec
from ..errors import Deep500Error


class CrossEntropy(Loss):
    """The mean negative log-probability that softmax gives to the labels.

    With `label_smoothing` s, a label means a probability of 1 - s for its class plus s spread over all classes.
    """

    label_smoothing: float = 0.0
    target_name = "label"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.label_smoothing < 1:
            raise Deep500Error(
                f"label_smoothing of CrossEntropy is {self.label_smoothing}: give a share from 0 to below 1"
            )

    def add(self, network: Network, prediction: str, target: str) -> str:
        if self.label_smoothing:
            return super().add(network, prediction, target)
        return network.add_node(
            "SoftmaxCrossEntropyLoss",
            (prediction, target),
            ["loss"],
            name="loss",
        )

    def formula(self, xp, prediction, target):
        scores = prediction - xp.logsumexp(prediction, axis=1, keepdims=True)
        classes_last = (0, *range(2, len(prediction.shape)), 1)
        log_probability = xp.permute_dims(scores, classes_last)
        labels = xp.one_hot(target, prediction.shape[1], prediction.dtype)
        of_labels = xp.sum(labels * log_probability, axis=-1)
        of_label = xp.mean(of_labels)
        of_all = xp.mean(log_probability)
        return (self.label_smoothing - 1) * of_label - self.label_smoothing * of_all

    def target(self, prediction: TensorSpec) -> TensorSpec:
        shape = prediction.shape
        without_classes = (*shape[:1], *shape[2:])
        return TensorSpec(without_classes, "int64")
