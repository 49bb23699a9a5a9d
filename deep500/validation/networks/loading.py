"""A network by what a user calls it: an ONNX file, a built-in one, or what a function of their own returns."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ... import networks
from ...contracts.network import Network
from ...errors import Deep500Error, did_you_mean
from ..checking.subjects import named_function


def load_network(
    name: str, settings: Mapping[str, Any]
) -> tuple[Network, dict[str, int]]:
    """The network, and the sizes of its open dimensions, which is what settings of a file are."""
    if ".py:" in name:
        return _written(name, settings), {}
    if not (name.endswith(".onnx") or Path(name).exists()):
        return networks.create(name, **settings), {}
    network = Network.load(name)
    for key, value in settings.items():
        if key not in network.dimensions:
            known = network.dimensions
            raise Deep500Error(
                f"{name} has no open dimension {key!r}.{did_you_mean(key, known)} It has: "
                f"{', '.join(known) or 'none'}"
            )
        if not isinstance(value, int) or value < 1:
            raise Deep500Error(
                f"the dimension {key!r} is {value!r}: give a whole number, 1 or more"
            )
    return network, {key: int(value) for key, value in settings.items()}


def _written(name: str, settings: Mapping[str, Any]) -> Network:
    """What a function in a user's file returns."""
    network = named_function(name)(**settings)
    if not isinstance(network, Network):
        raise Deep500Error(
            f"{name} returns a {type(network).__name__}, and a d5.Network is wanted"
        )
    return network
