"""The transformation contract: rewrites a network into another one that computes the same."""

from collections.abc import Iterable
from typing import cast

from .. import registry
from ..definition import Definition
from ..errors import lacking
from .network import Network

# elements of the largest parameter whose value a transformation reads
LARGEST_CONSTANT = 1 << 16

# Transformations that simplify patterns of exporters; all are cheap, and none changes a result beyond rounding.
CLEAN_UP = (
    "RemoveNoOps",
    "RemoveZeroBiases",
    "SliceConstantGathers",
    "FuseSoftplus",
    "FuseGelu",
    "FuseAttention",
)


class Transformation(Definition):
    """Rewrites a network; its fields are its settings.

    apply(network)   Changes this network, which is a copy. Names of inputs, outputs and trained parameters stay, unless
        the transformation exists to change them.
    """

    def __call__(self, network: Network) -> Network:
        """A transformed copy of the network."""
        copy = network.copy()
        self.apply(copy)
        return copy

    def apply(self, network: Network) -> None:
        raise lacking(self, "apply")


def apply_all(names: Iterable[str], network: Network) -> None:
    """Change this network with the transformations of these names, one after the other."""
    for name in names:
        transformation_class = registry.find("transformations", name)
        transformation = cast(Transformation, transformation_class())
        transformation.apply(network)
