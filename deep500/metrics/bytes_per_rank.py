"""The number of bytes that the busiest rank sends while it trains."""

from ..contracts.metric import History, Metric
from ._ranks import rank_counters


class BytesPerRank(Metric):
    """Bytes sent by the rank that sends most; evaluation and statistics are not counted."""

    unit = "B"
    kind = "count"
    better = "lower"

    def value(self, history: History) -> float | None:
        counts = rank_counters(history, "bytes").values()
        return max(counts, default=None)
