"""How long one training step takes."""

import math

from ..contracts.metric import POSITIVE, History, Metric
from ..errors import Deep500Error


class StepLatency(Metric):
    """A quantile of the seconds of a step, loading included: 0.5 is the median, 0.99 stands for the slow steps.

    It is always a measured time (by the nearest-rank method), never an interpolated one.
    """

    quantile: float = 0.5
    unit = "s"
    kind = "cost"
    better = "lower"
    scale = POSITIVE
    needs = ("real time",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.quantile < 1:
            raise Deep500Error(
                f"the quantile is {self.quantile}: give a number between 0 and 1"
            )

    def value(self, history: History) -> float | None:
        ordered = sorted(history.step_seconds)
        if not ordered:
            return None
        rank = math.ceil(self.quantile * len(ordered))
        return ordered[rank - 1]
