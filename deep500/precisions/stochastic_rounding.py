"""Rounding by chance: coarse numbers without a bias (Gupta et al., 2015)."""

import numpy as np

from ..contracts.network import Network
from ..contracts.precision import Precision
from ..namespace import Namespace
from ._insertion import round_factors
from ._operators import RoundStochastically
from ._rounding import format_named, rounded


class StochasticRounding(Precision):
    """Factors of products, and the weights after every update, rounded to a format up or down by chance.

    There is no copy of the weights in float32: an update much smaller than the format's steps still counts, for it
    moves a weight with a small probability. Chance is drawn by seed, node and step, so that a run can be resumed.
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
        return rounded(
            xp, weights, format_named(self.format), xp.uniform(key, weights.shape)
        )
