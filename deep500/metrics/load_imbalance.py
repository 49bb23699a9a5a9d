"""Whether some ranks compute longer than others, and by how much."""

import numpy as np

from ..contracts.metric import POSITIVE, History, Metric
from ..measure.statistics.groups import kruskal_wallis
from ._ranks import rank_series


class LoadImbalance(Metric):
    """How much longer the slowest rank computes than the mean of all, in per cent.

    It is 0 unless a Kruskal-Wallis test finds a significant difference between the ranks.
    """

    unit = "%"
    kind = "ratio"
    better = "lower"
    scale = POSITIVE
    absence = "fewer than two ranks train"
    needs = ("real time",)
    significance: float = 0.05

    def value(self, history: History) -> float | None:
        seconds = rank_series(history, "seconds")
        waiting = rank_series(history, "waiting")
        computing = []
        for rank, numbers in seconds.items():
            if numbers:  # a parameter server has no steps
                computing.append(np.subtract(numbers, waiting[rank]))
        if len(computing) < 2:
            return None
        if kruskal_wallis(computing).p >= self.significance:
            return 0.0
        means = [float(times.mean()) for times in computing]
        mean = sum(means) / len(means)
        if mean <= 0:
            return 0.0
        return 100 * (max(means) / mean - 1)
