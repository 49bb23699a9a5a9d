"""How much of the test data a trained network classifies correctly."""

from ..contracts.metric import History, Metric


class TestAccuracy(Metric):
    """Per cent of the test data, after the last epoch: the number to report."""

    __test__ = False  # pytest takes a class of this name for a test
    unit = "%"
    reads = "accuracy"

    def value(self, history: History) -> float | None:
        return history.final("test", "accuracy")
