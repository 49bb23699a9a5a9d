"""How far the replicas are from each other at the end."""

from ..contracts.metric import POSITIVE, History, Metric


class ConsensusDistance(Metric):
    """The root mean square distance of a replica from the mean of all; 0 for schemes that keep them equal."""

    kind = "quality"
    better = "lower"
    scale = POSITIVE
    absence = "the recipe has no ranks"

    def value(self, history: History) -> float | None:
        distances = history.series.get("consensus distance")
        if distances:
            return distances[-1]
        is_distributed = "bytes of rank 0" in history.counters
        return 0.0 if is_distributed else None
