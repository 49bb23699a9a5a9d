"""How much memory training takes."""

from ..contracts.metric import History, Metric


class PeakMemory(Metric):
    """The most memory, in MiB, that the process held while it was trained and evaluated: framework, data and all."""

    unit = "MiB"
    kind = "cost"
    better = "lower"
    needs = ("peak memory",)

    def value(self, history: History) -> float | None:
        peak = history.counters.get("peak memory")
        if peak is None:
            return None
        return peak / 2**20
