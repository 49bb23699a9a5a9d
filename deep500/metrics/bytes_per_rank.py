"""What the busiest rank sends while it trains."""

from ..contracts.metric import History, Metric
from ._ranks import rank_counters


class BytesPerRank(Metric):
    """Bytes given to the transport by the rank that gives most; evaluation and statistics are not counted."""

    unit = "B"
    kind = "count"
    better = "lower"

    def value(self, history: History) -> float | None:
        return max(rank_counters(history, "bytes").values(), default=None)
