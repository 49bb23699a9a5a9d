"""How much of the training data a trained network classifies correctly."""

from ..contracts.metric import History, Metric


class TrainingAccuracy(Metric):
    """Per cent of the training data, after the last epoch, all of it evaluated once more."""

    unit = "%"
    reads = "accuracy"
    needs = ("training quality",)

    def value(self, history: History) -> float | None:
        return history.counters.get("training accuracy")
