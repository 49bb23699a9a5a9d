"""How much of the training data a trained network classifies correctly."""

from ..contracts.metric import SHARE, History, Metric


class TrainingAccuracy(Metric):
    """Accuracy on the training data after the last epoch, from a separate evaluation of all of them."""

    unit = "%"
    scale = SHARE
    reads = "accuracy"
    needs = ("training quality",)

    def value(self, history: History) -> float | None:
        return history.counters.get("training accuracy")
