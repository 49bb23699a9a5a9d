"""The number of bytes that the busiest rank sends while it trains."""

from ..contracts.metric import POSITIVE, History, Metric
from ._ranks import rank_counters


class BytesPerRank(Metric):
    """Bytes sent by the rank that sends most; evaluation and statistics are not counted.

    Messages are counted; collectives of the engine's own are modelled, see `modelled_bytes` of the transport contract.
    """

    unit = "B"
    kind = "count"
    better = "lower"
    scale = POSITIVE
    absence = "the recipe has no ranks"

    def value(self, history: History) -> float | None:
        counts = rank_counters(history, "bytes").values()
        return max(counts, default=None)
