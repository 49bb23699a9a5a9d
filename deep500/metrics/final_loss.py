"""Where the training loss ended."""

import math

from ..contracts.metric import History, Metric


class FinalLoss(Metric):
    """Mean training loss over the steps of the last epoch: the loss of one batch is mostly the luck of its draw."""

    better = "lower"

    def value(self, history: History) -> float | None:
        if not history.evaluations:
            return None
        start = history.evaluations[-2]["step"] if len(history.evaluations) > 1 else 0
        last = history.losses[start : history.evaluations[-1]["step"]]
        return math.fsum(last) / len(last)
