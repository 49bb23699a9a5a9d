"""How many steps it takes to reach an accuracy."""

from ..contracts.metric import History, Metric, first_reaching


class StepsToAccuracy(Metric):
    """Steps until the validation accuracy first reaches `target` per cent: TimeToAccuracy, independent of the machine.

    Accuracy is evaluated after every epoch. A run that never reaches the target is censored, as in TimeToAccuracy.
    """

    target: float
    unit = "steps"
    kind = "cost"
    better = "lower"
    reads = "accuracy"

    def value(self, history: History) -> float | None:
        evaluation = first_reaching(history, "accuracy", self.target)
        if not evaluation:
            return None
        return float(evaluation["step"])

    def censored_at(self, history: History) -> float | None:
        if not history.evaluations:
            return None
        return float(history.evaluations[-1]["step"])
