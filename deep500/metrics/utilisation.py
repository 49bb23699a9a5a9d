"""How much of the machine's peak performance training achieves."""

import math

from ..contracts.metric import POSITIVE, History, Metric


class Utilisation(Metric):
    """Percentage of the roofline: the least time that the machine's measured peaks allow, divided by the actual time.

    The peaks are those of all cores that the process may use, whatever number of threads the recipe has. Only the bytes
    of the forward pass are counted, so the bound is lenient.
    """

    unit = "%"
    kind = "ratio"
    scale = POSITIVE
    needs = ("work", "roofline", "real time")

    def value(self, history: History) -> float | None:
        least_per_example = history.counters.get("least seconds per example")
        seconds = math.fsum(history.step_seconds)
        if least_per_example is None or seconds <= 0:
            return None
        return 100 * least_per_example * history.samples / seconds
