"""How much of the validation data a trained network classifies correctly."""

from ..contracts.metric import SHARE, History, Metric


class ValidationAccuracy(Metric):
    """Accuracy on the validation data after the last epoch: the number to select models by."""

    unit = "%"
    scale = SHARE
    reads = "accuracy"

    def value(self, history: History) -> float | None:
        return history.final("validation", "accuracy")
