"""How long it takes to reach a value of any quality of the task."""

from collections.abc import Mapping
from typing import Any

from ..contracts.metric import (
    POSITIVE,
    History,
    Metric,
    first_reaching,
    last_before,
    quality_named,
)
from ..contracts.task import Quality


class TimeToQuality(Metric):
    """Seconds of training until a quality ("mean absolute error") first reaches `target` on validation data.

    The task defines whether higher or lower is better. A run that never reaches the target is censored.
    """

    name: str
    target: float
    # whether higher or lower values are better; `for_qualities` sets it
    direction: str = "higher"
    unit = "s"
    kind = "cost"
    better = "lower"
    scale = POSITIVE
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
        return first_reaching(history, self.name, self.target, self.direction)

    def for_qualities(self, qualities: Mapping[str, Quality]) -> Metric:
        quality = quality_named(self.name, qualities)
        return TimeToQuality(self.name, self.target, quality.better)
