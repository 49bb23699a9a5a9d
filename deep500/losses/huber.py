"""Huber's loss: squared near the target, absolute far from it."""

from ..contracts.loss import Loss
from ..errors import Deep500Error


class Huber(Loss):
    """The mean of e²/2 for errors e up to `delta`, and of delta (|e| - delta/2) beyond."""

    delta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.delta > 0:
            raise Deep500Error(f"delta of Huber is {self.delta}: give a number above 0")

    def formula(self, xp, prediction, target):
        error = xp.abs(prediction - target)
        near = xp.minimum(error, self.delta)
        return xp.mean(near * (error - 0.5 * near))
