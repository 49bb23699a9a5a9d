"""How much of the training time is spent waiting for other ranks."""

import math

from ..contracts.metric import SHARE, History, Metric
from ._ranks import rank_series


class ExposedCommunication(Metric):
    """The share of their time that ranks wait for each other, which overlapping did not hide."""

    unit = "%"
    kind = "ratio"
    better = "lower"
    scale = SHARE
    absence = "the recipe has no ranks"
    needs = ("real time",)

    def value(self, history: History) -> float | None:
        whole = _total(history, "seconds")
        waiting = _total(history, "waiting")
        if whole <= 0:
            return None
        return 100 * waiting / whole


def _total(history: History, name: str) -> float:
    """The sum of a series over all ranks."""
    series = rank_series(history, name).values()
    return math.fsum(math.fsum(numbers) for numbers in series)
