"""How much of the test data a trained network classifies correctly."""

from ..contracts.metric import SHARE, History, Metric


class TestAccuracy(Metric):
    """Accuracy on the test data after the last epoch: the number to report."""

    __test__ = False  # pytest would collect a class of this name as a test
    unit = "%"
    scale = SHARE
    reads = "accuracy"

    def value(self, history: History) -> float | None:
        return history.final("test", "accuracy")
