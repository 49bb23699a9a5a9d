"""How fast a network is trained."""

import math

from ..contracts.metric import History, Metric


class Throughput(Metric):
    """Samples per second: all the work over all the time, which no mean of single rates gives."""

    unit = "samples/s"
    kind = "rate"

    def value(self, history: History) -> float | None:
        seconds = math.fsum(history.step_seconds)
        return history.samples / seconds if seconds > 0 else None
