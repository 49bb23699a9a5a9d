"""Absolute error."""

from ..contracts.loss import Loss


class MeanAbsoluteError(Loss):
    """The mean of absolute differences over all elements of a batch."""

    def formula(self, xp, prediction, target):
        return xp.mean(xp.abs(prediction - target))
