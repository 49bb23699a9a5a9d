"""Loads a network by name: an ONNX file, a built-in network, or what a function in a user's file returns."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ... import networks
from ...contracts.network import Network
from ...definition_text import create, definition_of
from ...errors import Deep500Error, did_you_mean, errors_of_user_code
from ..operators.subjects import named_function


def load_network(
    name: str, settings: Mapping[str, Any], transform: str = ""
) -> tuple[Network, dict[str, int]]:
    """The network and the sizes of its open dimensions. Settings are such sizes for a file, and arguments otherwise.

    `transform` is a transformation as text, which is applied. Raises `Deep500Error` if a file has no such dimension, or
    if a size is not a positive integer.
    """
    network, sizes = _untransformed(name, settings)
    if transform:
        transformation = definition_of(transform, "transformations")
        with errors_of_user_code(f"transforming {name}"):
            network = transformation(network)
    return network, sizes


def _untransformed(
    name: str, settings: Mapping[str, Any]
) -> tuple[Network, dict[str, int]]:
    if ".py:" in name:
        return _from_function(name, settings), {}
    is_file = name.endswith(".onnx") or Path(name).exists()
    if not is_file:
        return networks.create(name, **settings), {}
    network = Network.load(name)
    for key, value in settings.items():
        if key not in network.dimensions:
            hint = did_you_mean(key, network.dimensions)
            dimensions = ", ".join(network.dimensions) or "none"
            raise Deep500Error(
                f"{name} has no open dimension {key!r}.{hint} It has: {dimensions}"
            )
        if not isinstance(value, int) or value < 1:
            raise Deep500Error(
                f"the dimension {key!r} is {value!r}: give a whole number, 1 or more"
            )
    return network, {key: int(value) for key, value in settings.items()}


def _from_function(name: str, settings: Mapping[str, Any]) -> Network:
    """The network that a function in a user's file returns."""
    network = create(named_function(name), **settings)
    if not isinstance(network, Network):
        kind = type(network).__name__
        raise Deep500Error(f"{name} returns a {kind}, and a d5.Network is wanted")
    return network
