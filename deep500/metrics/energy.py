"""How much energy training takes."""

from ..contracts.metric import History, Metric


class Energy(Metric):
    """Joule of all processor packages (RAPL) and NVIDIA devices (NVML) during training and evaluation.

    The counters are the whole machine's: whatever else runs on it is in there.
    """

    unit = "J"
    kind = "cost"
    better = "lower"
    needs = ("energy",)

    def value(self, history: History) -> float | None:
        return history.counters.get("energy")
