"""Test accuracy in relation to the data sent."""

import math

from ..contracts.metric import POSITIVE, History, Metric
from ._ranks import rank_counters


class AccuracyPerMegabyte(Metric):
    """The test accuracy divided by the megabytes (10^6 B) that all ranks sent; None if nothing was sent.

    The bytes are those of `BytesPerRank`: counted for messages, modelled for collectives of the engine's own.
    """

    unit = "%/MB"
    kind = "ratio"
    scale = POSITIVE
    reads = "accuracy"
    absence = "no rank sent anything"

    def value(self, history: History) -> float | None:
        accuracy = history.final("test", "accuracy")
        sent = math.fsum(rank_counters(history, "bytes").values())
        if accuracy is None or not sent:
            return None
        megabytes = sent / 1e6
        return accuracy / megabytes
