"""How many operations a second a network is trained with."""

import math

from ..contracts.metric import History, Metric


class FlopRate(Metric):
    """Operations of forward and backward passes, counted from the shapes, over the time of all steps."""

    unit = "GFLOP/s"
    kind = "rate"
    needs = ("work",)

    def value(self, history: History) -> float | None:
        each = history.counters.get("flops per example")
        seconds = math.fsum(history.step_seconds)
        if each is None or seconds <= 0:
            return None
        return each * history.samples / seconds / 1e9
