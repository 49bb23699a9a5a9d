"""The zero-one loss: the share of wrong predictions."""

from ..contracts.loss import Loss
from ..contracts.operator import TensorSpec


class ZeroOne(Loss):
    """The mean of 1 for a wrong prediction and 0 for a right one; the prediction is the class of the largest score.

    It is for evaluation only: its derivative is 0 wherever it exists.
    """

    target_name = "label"
    trains = False

    def formula(self, xp, prediction, target):
        is_right = xp.argmax(prediction, axis=1) == target
        is_wrong = xp.logical_not(is_right)
        return xp.mean(xp.astype(is_wrong, prediction.dtype))

    def target(self, prediction: TensorSpec) -> TensorSpec:
        shape = prediction.shape
        without_classes = (*shape[:1], *shape[2:])
        return TensorSpec(without_classes, "int64")
