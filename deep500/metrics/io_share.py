"""How much of the training time is spent waiting for data."""

import math

from ..contracts.metric import SHARE, History, Metric


class IoShare(Metric):
    """The percentage of the time of all steps that was spent waiting for batches."""

    unit = "%"
    kind = "ratio"
    better = "lower"
    scale = SHARE
    needs = ("real time",)

    def value(self, history: History) -> float | None:
        waits = history.series.get("data", [])
        seconds = math.fsum(history.step_seconds)
        if not waits or seconds <= 0:
            return None
        return 100 * math.fsum(waits) / seconds
