"""Squared error."""

from ..contracts.loss import Loss


class MeanSquaredError(Loss):
    """The mean of squared differences over all elements of a batch."""

    def formula(self, xp, prediction, target):
        difference = prediction - target
        return xp.mean(difference * difference)
