"""How much of what the machine can do a training step gets out of it."""

import math

from ..contracts.metric import History, Metric


class Utilisation(Metric):
    """Per cent of the roofline: the least time that the machine's measured peaks allow, over the time that was taken.

    The peaks are those of all cores that the process may use, whatever number of threads the recipe has. Bytes are
    those of the forward pass, which the backward pass can only add to: the bound is lenient, the utilisation too high.
    """

    unit = "%"
    kind = "ratio"
    needs = ("work", "roofline")

    def value(self, history: History) -> float | None:
        least = history.counters.get("least seconds per example")
        seconds = math.fsum(history.step_seconds)
        if least is None or seconds <= 0:
            return None
        return 100 * least * history.samples / seconds
