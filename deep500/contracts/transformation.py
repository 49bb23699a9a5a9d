"""The transformation contract: from a network to another one that computes the same."""

from collections.abc import Iterable
from typing import cast

from .. import registry
from ..definition import Definition
from ..errors import lacking
from .network import Network

LARGEST_CONSTANT = (
    1 << 16
)  # elements of a parameter whose value a transformation looks at

# Transformations that undo what exporters leave behind; all are cheap, and none changes a result beyond rounding.
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


def apply_all(names: Iterable[str], network: Network) -> None:
    """Change this network by the transformations of these names, one after the other."""
    for name in names:
        transformation = cast(Transformation, registry.find("transformations", name)())
        transformation.apply(network)
