"""How long a network must be trained until any quality of its task is good enough."""

from collections.abc import Mapping

from ..contracts.metric import History, Metric, first_reaching, quality_named
from ..contracts.task import Quality


class TimeToQuality(Metric):
    """Seconds of training until a quality ("mean absolute error") first reaches `target` on validation data.

    The task says whether the target is reached from above or from below. A run that never arrives is censored.
    """

    name: str
    target: float
    direction: str = "higher"  # of the quality; the task's own once it is known
    unit = "s"
    kind = "cost"
    better = "lower"

    def value(self, history: History) -> float | None:
        evaluation = first_reaching(history, self.name, self.target, self.direction)
        return evaluation["seconds"] if evaluation else None

    def censored_at(self, history: History) -> float | None:
        return history.evaluations[-1]["seconds"] if history.evaluations else None

    def for_qualities(self, qualities: Mapping[str, Quality]) -> Metric:
        quality = quality_named(self.name, qualities)
        return TimeToQuality(self.name, self.target, quality.better)
