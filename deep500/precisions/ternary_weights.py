"""Weights that are -a, 0 or a (Li, Zhang and Liu, 2016)."""

from ..contracts.network import Network
from ..contracts.precision import Precision
from ._insertion import round_trained_weights
from ._operators import Ternary


class TernaryWeights(Precision):
    """Makes every weight of a product -a, 0 or a, with one a per tensor, which approximates the weights.

    Gradients pass unchanged to the weights in float32, which the optimizer updates.
    """

    def apply(self, network: Network) -> None:
        round_trained_weights(network, Ternary)
