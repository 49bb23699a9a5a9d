"""How much energy training takes."""

from ..contracts.metric import POSITIVE, History, Metric


class Energy(Metric):
    """Energy in joules of all processor packages (RAPL) and NVIDIA devices (NVML) during training and evaluation.

    The counters are those of the whole machine: they include whatever else runs on it.
    """

    unit = "J"
    kind = "cost"
    better = "lower"
    scale = POSITIVE
    needs = ("energy",)

    def value(self, history: History) -> float | None:
        return history.counters.get("energy")
