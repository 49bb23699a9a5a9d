"""How many steps loss scaling skipped."""

from ..contracts.metric import POSITIVE, History, Metric


class SkippedSteps(Metric):
    """Steps whose scaled gradients were not finite, so that no update was made (see precisions/)."""

    kind = "count"
    better = "lower"
    scale = POSITIVE
    needs = ("precision",)

    def value(self, history: History) -> float | None:
        return history.counters.get("skipped steps")
