"""The loss contract: what a network is trained to make small, as nodes of the network itself."""

from ..definition import Definition
from .network import Network


class Loss(Definition):
    """Adds its nodes to a network; so every framework computes and differentiates the same loss."""

    def add(self, network: Network, prediction: str, label: str) -> str:
        """Append the loss of `prediction` against `label`; returns the name of the scalar, "loss"."""
        raise NotImplementedError
