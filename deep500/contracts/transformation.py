"""The transformation contract: from a network to another one that computes the same."""

from ..definition import Definition
from ..errors import lacking
from .network import Network


class Transformation(Definition):
    """Rewrites a network; its fields are its settings.

    apply(network)   Changes this network, which is the caller's own copy. Names of inputs, outputs and trained
        parameters stay, unless the transformation exists to change them.
    """

    def __call__(self, network: Network) -> Network:
        """The transformed network; the one that was given stays as it is."""
        copy = network.copy()
        self.apply(copy)
        return copy

    def apply(self, network: Network) -> None:
        raise lacking(self, "apply")
