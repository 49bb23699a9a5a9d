"""The training loss at the end of a run."""

import math

from ..contracts.metric import POSITIVE, History, Metric


class FinalLoss(Metric):
    """Mean training loss over the steps of the last epoch, since the loss of a single batch is mostly chance."""

    better = "lower"
    scale = POSITIVE  # a loss below 0 makes it a real number

    def value(self, history: History) -> float | None:
        if not history.evaluations:
            return None
        start = 0
        if len(history.evaluations) > 1:
            start = history.evaluations[-2]["step"]
        end = history.evaluations[-1]["step"]
        losses = history.losses[start:end]
        return math.fsum(losses) / len(losses)
