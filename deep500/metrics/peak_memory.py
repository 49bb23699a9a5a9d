"""How much memory training takes."""

from ..contracts.metric import History, Metric


class PeakMemory(Metric):
    """The peak memory of the process in MiB during training and evaluation, including framework and data."""

    unit = "MiB"
    kind = "cost"
    better = "lower"
    needs = ("peak memory",)

    def value(self, history: History) -> float | None:
        peak = history.counters.get("peak memory")
        if peak is None:
            return None
        return peak / 2**20
