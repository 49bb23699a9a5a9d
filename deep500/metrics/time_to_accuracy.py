"""How long a network must be trained until it is good enough."""

from ..contracts.metric import History, Metric


class TimeToAccuracy(Metric):
    """Seconds of training until the validation accuracy first reaches `target` per cent; None if it never does.

    Accuracy is looked at after every epoch, so the time is that of whole epochs.
    """

    target: float
    unit = "s"
    kind = "cost"
    better = "lower"
    reads = "accuracy"

    def value(self, history: History) -> float | None:
        for evaluation in history.evaluations:
            if evaluation["validation"]["accuracy"] >= self.target:
                return evaluation["seconds"]
        return None
