"""Shared by transformations: the values that must keep their names, and the parameters that never change."""

from ..contracts.network import Network


def required_values(network: Network) -> set[str]:
    """The values that must keep their names: outputs of the network and updates of its state."""
    return {*network.outputs, *network.state_updates.values()}


def constants(network: Network) -> list[str]:
    """The parameters that neither an optimizer nor a running statistic changes."""
    changing = {*network.trainable, *network.state_updates}
    return [name for name in network.params if name not in changing]


def remove_unused_constants(network: Network) -> None:
    """Remove constants that no node uses; trained parameters stay."""
    required = required_values(network)
    for name in constants(network):
        if name not in required and not network.consumers(name):
            del network.params[name]
