"""How old the parameters were from which gradients were computed."""

import numpy as np

from ..contracts.metric import POSITIVE, History, Metric
from ._ranks import rank_series


class Staleness(Metric):
    """The number of other updates between reading the parameters and applying their gradient, as a mean."""

    unit = "updates"
    kind = "count"
    better = "lower"
    scale = POSITIVE
    absence = "the scheme records no staleness"

    def value(self, history: History) -> float | None:
        series = [*rank_series(history, "staleness").values()]
        if not series:
            return None
        return float(np.mean(np.concatenate(series)))

    def histogram(self, history: History) -> dict[int, int]:
        """The number of updates by staleness."""
        series = [*rank_series(history, "staleness").values()]
        if not series:
            return {}
        values, counts = np.unique(np.concatenate(series), return_counts=True)
        histogram = {}
        for value, count in zip(values, counts, strict=True):
            histogram[int(value)] = int(count)
        return histogram
