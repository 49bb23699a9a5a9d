"""The number of messages that the busiest rank sends while it trains."""

from ..contracts.metric import POSITIVE, History, Metric
from ._ranks import rank_counters


class MessagesPerRank(Metric):
    """Messages and collectives started by the rank that starts most."""

    unit = "messages"
    kind = "count"
    better = "lower"
    scale = POSITIVE
    absence = "the recipe has no ranks"

    def value(self, history: History) -> float | None:
        counts = rank_counters(history, "messages").values()
        return max(counts, default=None)
