"""How much energy training takes."""

from ..contracts.metric import POSITIVE, History, Metric


class Energy(Metric):
    """Energy in joules during training and evaluation: of all processor packages (RAPL) and of the run's GPU (NVML).

    Only NVIDIA's GPUs have a counter, which resolves two seconds or more. The counters are those of whole packages and
    devices: they include whatever else runs on them.
    """

    unit = "J"
    kind = "cost"
    better = "lower"
    scale = POSITIVE
    needs = ("energy",)

    def value(self, history: History) -> float | None:
        return history.counters.get("energy")
