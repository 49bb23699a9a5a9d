"""How much better a network is on what it has seen."""

from ..contracts.metric import History, Metric


class GeneralisationGap(Metric):
    """Accuracy on the training data minus accuracy on the test data, in percentage points, after the last epoch."""

    unit = "points"
    better = "lower"
    reads = "accuracy"
    needs = ("training quality",)

    def value(self, history: History) -> float | None:
        seen = history.counters.get("training accuracy")
        unseen = history.final("test", "accuracy")
        if seen is None or unseen is None:
            return None
        return seen - unseen
