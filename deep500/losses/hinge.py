"""The multi-class hinge loss: the score of the label must exceed all others by a margin."""

from ..contracts.loss import Loss
from ..contracts.operator import TensorSpec


class Hinge(Loss):
    """The mean over a batch and over the classes of max(0, margin - score of the label + score of another class)."""

    margin: float = 1.0
    target_name = "label"

    def formula(self, xp, prediction, target):
        labels = xp.one_hot(target, prediction.shape[1], prediction.dtype)
        of_label = xp.sum(labels * prediction, axis=1, keepdims=True)
        shortfall = xp.maximum(prediction - of_label + self.margin, 0.0)
        return xp.mean((1 - labels) * shortfall)

    def target(self, prediction: TensorSpec) -> TensorSpec:
        return TensorSpec(prediction.shape[:1], "int64")
