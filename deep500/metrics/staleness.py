"""How old the parameters are that gradients were computed with."""

import numpy as np

from ..contracts.metric import History, Metric
from ._ranks import rank_series


class Staleness(Metric):
    """Updates by others between reading the parameters and applying their gradient: the mean over all updates."""

    unit = "updates"
    kind = "count"
    better = "lower"

    def value(self, history: History) -> float | None:
        values = [*rank_series(history, "staleness").values()]
        return float(np.mean(np.concatenate(values))) if values else None

    def histogram(self, history: History) -> dict[int, int]:
        """How many updates had which staleness."""
        values = [*rank_series(history, "staleness").values()]
        if not values:
            return {}
        numbers, counts = np.unique(np.concatenate(values), return_counts=True)
        return {
            int(number): int(count)
            for number, count in zip(numbers, counts, strict=True)
        }
