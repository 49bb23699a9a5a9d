"""How much of the validation data a trained network classifies correctly."""

from ..contracts.metric import History, Metric


class ValidationAccuracy(Metric):
    """Per cent of the validation data, after the last epoch: the number to choose by."""

    unit = "%"
    reads = "accuracy"

    def value(self, history: History) -> float | None:
        return history.final("validation", "accuracy")
