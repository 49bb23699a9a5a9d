"""What transformations share: which values must stay, and which parameters never change."""

from ..contracts.network import Network


def wanted_values(network: Network) -> set[str]:
    """The values that keep their names because somebody outside asks for them."""
    return {*network.outputs, *network.state_updates.values()}


def constants(network: Network) -> list[str]:
    """The parameters that neither an optimizer nor a running statistic changes."""
    changing = {*network.trainable, *network.state_updates}
    return [name for name in network.params if name not in changing]


def remove_unused_constants(network: Network) -> None:
    """Drop constants that no node takes; trained parameters stay."""
    wanted = wanted_values(network)
    for name in constants(network):
        if name not in wanted and not network.consumers(name):
            del network.params[name]
