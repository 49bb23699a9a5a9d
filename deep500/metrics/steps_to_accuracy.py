"""How many steps it takes to reach an accuracy."""

from typing import Any

from ..contracts.metric import (
    POSITIVE,
    History,
    Metric,
    first_reaching,
    last_before,
)


class StepsToAccuracy(Metric):
    """Steps until the validation accuracy first reaches `target` per cent: TimeToAccuracy, independent of the machine.

    Accuracy is evaluated after every epoch, and within it every `evaluate_every` steps. A run that never reaches the
    target is censored, as in TimeToAccuracy.
    """

    target: float
    unit = "steps"
    kind = "cost"
    better = "lower"
    scale = POSITIVE
    reads = "accuracy"

    def value(self, history: History) -> float | None:
        evaluation = self._reached(history)
        if not evaluation:
            return None
        return float(evaluation["step"])

    def not_before(self, history: History) -> float | None:
        return last_before(history, self._reached(history), "step")

    def censored_at(self, history: History) -> float | None:
        if not history.evaluations:
            return None
        return float(history.evaluations[-1]["step"])

    def _reached(self, history: History) -> dict[str, Any] | None:
        return first_reaching(history, "accuracy", self.target)
