"""How many messages the busiest rank sends while it trains."""

from ..contracts.metric import History, Metric
from ._ranks import rank_counters


class MessagesPerRank(Metric):
    """Messages and collectives that the rank with the most of them begins."""

    unit = "messages"
    kind = "count"
    better = "lower"

    def value(self, history: History) -> float | None:
        return max(rank_counters(history, "messages").values(), default=None)
