"""How many floating-point operations per second the training performs."""

import math

from ..contracts.metric import POSITIVE, History, Metric


class FlopRate(Metric):
    """Operations of forward and backward passes, computed from the shapes, divided by the time of all steps."""

    unit = "GFLOP/s"
    kind = "rate"
    scale = POSITIVE
    needs = ("work", "real time")

    def value(self, history: History) -> float | None:
        flops_per_example = history.counters.get("flops per example")
        seconds = math.fsum(history.step_seconds)
        if flops_per_example is None or seconds <= 0:
            return None
        return flops_per_example * history.samples / seconds / 1e9
