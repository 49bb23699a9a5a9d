"""How much memory training takes."""

from ..contracts.metric import POSITIVE, History, Metric


class PeakMemory(Metric):
    """The peak memory of the process in MiB during training and evaluation, including framework and data."""

    unit = "MiB"
    kind = "cost"
    better = "lower"
    scale = POSITIVE
    needs = ("peak memory",)

    def value(self, history: History) -> float | None:
        peak = history.counters.get("peak memory")
        if peak is None:
            return None
        return peak / 2**20
