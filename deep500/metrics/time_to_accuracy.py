"""How long a network must be trained until it is good enough."""

from ..contracts.metric import History, Metric, first_reaching


class TimeToAccuracy(Metric):
    """Seconds of training until the validation accuracy first reaches `target` per cent; None if it never does.

    Accuracy is looked at after every epoch, so the time is that of whole epochs. A run that never arrives is censored:
    the median over seeds is Kaplan and Meier's.
    """

    target: float
    unit = "s"
    kind = "cost"
    better = "lower"
    reads = "accuracy"

    def value(self, history: History) -> float | None:
        evaluation = first_reaching(history, "accuracy", self.target)
        return evaluation["seconds"] if evaluation else None

    def censored_at(self, history: History) -> float | None:
        return history.evaluations[-1]["seconds"] if history.evaluations else None
