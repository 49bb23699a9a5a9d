"""How much of the training time is spent on waiting for other ranks."""

import math

from ..contracts.metric import History, Metric
from ._ranks import rank_series


class ExposedCommunication(Metric):
    """The share of their time that ranks wait for each other: what overlapping did not hide."""

    unit = "%"
    kind = "ratio"
    better = "lower"

    def value(self, history: History) -> float | None:
        seconds = rank_series(history, "seconds").values()
        waiting = rank_series(history, "waiting").values()
        whole = math.fsum(math.fsum(numbers) for numbers in seconds)
        part = math.fsum(math.fsum(numbers) for numbers in waiting)
        return 100 * part / whole if whole > 0 else None
