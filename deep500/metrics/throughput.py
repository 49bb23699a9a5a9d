"""How fast a network is trained."""

import math

from ..contracts.metric import POSITIVE, History, Metric


class Throughput(Metric):
    """Samples per second: all samples divided by the time of all steps, not a mean of rates."""

    unit = "samples/s"
    kind = "rate"
    scale = POSITIVE
    needs = ("real time",)

    def value(self, history: History) -> float | None:
        seconds = math.fsum(history.step_seconds)
        if seconds <= 0:
            return None
        return history.samples / seconds
