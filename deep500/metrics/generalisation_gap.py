"""How much better a network is on its training data."""

from ..contracts.metric import History, Metric, Scale


class GeneralisationGap(Metric):
    """Accuracy on the training data minus accuracy on the test data, in percentage points, after the last epoch."""

    unit = "points"
    better = "lower"
    scale = Scale(-100.0, 100.0)
    reads = "accuracy"
    needs = ("training quality",)

    def value(self, history: History) -> float | None:
        training = history.counters.get("training accuracy")
        test = history.final("test", "accuracy")
        if training is None or test is None:
            return None
        return training - test
