"""How many steps a network must be trained until it is good enough."""

from ..contracts.metric import History, Metric, first_reaching


class StepsToAccuracy(Metric):
    """Steps until the validation accuracy first reaches `target` per cent: time to accuracy without the machine.

    Accuracy is looked at after every epoch. A run that never arrives is censored, as in TimeToAccuracy.
    """

    target: float
    unit = "steps"
    kind = "cost"
    better = "lower"
    reads = "accuracy"

    def value(self, history: History) -> float | None:
        evaluation = first_reaching(history, "accuracy", self.target)
        return float(evaluation["step"]) if evaluation else None

    def censored_at(self, history: History) -> float | None:
        return float(history.evaluations[-1]["step"]) if history.evaluations else None
