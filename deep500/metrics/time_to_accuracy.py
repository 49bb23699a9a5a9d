"""How long it takes to reach an accuracy."""

from typing import Any

from ..contracts.metric import (
    POSITIVE,
    History,
    Metric,
    first_reaching,
    last_before,
)


class TimeToAccuracy(Metric):
    """Seconds of training until the validation accuracy first reaches `target` per cent; None if it never does.

    Accuracy is evaluated after every epoch, so the time is that of whole epochs, or within epochs too, every
    `evaluate_every` steps. A run that never reaches the target is censored, and the median over seeds is the
    Kaplan-Meier estimate.
    """

    target: float
    unit = "s"
    kind = "cost"
    better = "lower"
    scale = POSITIVE
    reads = "accuracy"
    needs = ("real time",)

    def value(self, history: History) -> float | None:
        evaluation = self._reached(history)
        if not evaluation:
            return None
        return evaluation["seconds"]

    def not_before(self, history: History) -> float | None:
        return last_before(history, self._reached(history), "seconds")

    def censored_at(self, history: History) -> float | None:
        if not history.evaluations:
            return None
        return history.evaluations[-1]["seconds"]

    def _reached(self, history: History) -> dict[str, Any] | None:
        return first_reaching(history, "accuracy", self.target)
