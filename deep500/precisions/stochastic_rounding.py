"""Rounding at random, so that low precision has no bias (Gupta et al., 2015)."""

import numpy as np

from ..contracts.network import Network
from ..contracts.precision import Precision
from ..namespace import Namespace
from ._insertion import round_factors
from ._operators import RoundStochastically
from ._rounding import format_named, rounded


class StochasticRounding(Precision):
    """Rounds the factors of products, and the weights after every update, at random up or down to a format.

    There is no copy of the weights in float32: an update much smaller than the spacing of the format still counts,
    since it moves a weight with a small probability. Random numbers depend on seed, node and step, so that a run can
    be resumed.
    """

    format: str = "bfloat16"
    rounds_weights = True

    def __post_init__(self) -> None:
        super().__post_init__()
        format_named(self.format)

    def apply(self, network: Network) -> None:
        round_factors(network, lambda: RoundStochastically(self.format))

    def round_weights(
        self, xp: Namespace, weights: np.ndarray, key: np.ndarray
    ) -> np.ndarray:
        target = format_named(self.format)
        chance = xp.uniform(key, weights.shape)
        return rounded(xp, weights, target, chance)
