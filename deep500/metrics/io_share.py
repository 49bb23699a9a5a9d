"""How much of training is waiting for data."""

import math

from ..contracts.metric import History, Metric


class IoShare(Metric):
    """Per cent of the time of all steps that went by before their batch was there."""

    unit = "%"
    kind = "ratio"
    better = "lower"

    def value(self, history: History) -> float | None:
        waits = history.series.get("data", [])
        seconds = math.fsum(history.step_seconds)
        if not waits or seconds <= 0:
            return None
        return 100 * math.fsum(waits) / seconds
