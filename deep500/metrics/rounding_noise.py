"""How much noise the rounding of low precision adds to a gradient, compared to the choice of its minibatch."""

import math

from ..contracts.metric import POSITIVE, History, Metric


class RoundingNoise(Metric):
    """Variance of the gradient due to rounding divided by its variance due to the minibatch, over all epochs.

    Far below 1, rounding adds little to the noise that stochastic gradient descent has anyway.
    """

    unit = "×"
    kind = "ratio"
    better = "lower"
    scale = POSITIVE
    needs = ("precision",)

    def value(self, history: History) -> float | None:
        rounding = math.fsum(history.series.get("rounding noise", []))
        minibatch = math.fsum(history.series.get("minibatch noise", []))
        if minibatch <= 0:
            return None
        return rounding / minibatch
