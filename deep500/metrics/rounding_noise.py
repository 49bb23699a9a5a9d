"""How much the rounding of low precision disturbs a gradient, beside the choice of its minibatch."""

import math

from ..contracts.metric import History, Metric


class RoundingNoise(Metric):
    """Variance of the gradient due to rounding over its variance due to the minibatch, the mean over all epochs.

    Far below 1, the rounding drowns in what stochastic gradient descent lives with anyway.
    """

    unit = "×"
    kind = "ratio"
    better = "lower"
    needs = ("precision",)

    def value(self, history: History) -> float | None:
        rounding = math.fsum(history.series.get("rounding noise", []))
        minibatch = math.fsum(history.series.get("minibatch noise", []))
        if minibatch <= 0:
            return None
        return rounding / minibatch
