"""How much of the validation data a trained network classifies correctly."""

from ..contracts.metric import History, Metric


class ValidationAccuracy(Metric):
    """Per cent of the validation data, after the last epoch: the number to choose by."""

    unit = "%"

    def value(self, history: History) -> float | None:
        return history.evaluations[-1]["validation"] if history.evaluations else None
