"""The share of wrong answers."""

from ..contracts.loss import Loss
from ..contracts.operator import Tensor


class ZeroOne(Loss):
    """1 for a wrong answer and 0 for a right one, on average; the answer is the class of the largest score.

    It is for evaluation: its derivative is 0 wherever it has one.
    """

    target_name = "label"
    trains = False

    def formula(self, xp, prediction, target):
        right = xp.argmax(prediction, axis=1) == target
        return xp.mean(xp.astype(xp.logical_not(right), prediction.dtype))

    def target(self, prediction: Tensor) -> Tensor:
        return Tensor((*prediction.shape[:1], *prediction.shape[2:]), "int64")
