"""How many operations an example takes, and how fast the machine's peaks would allow them to be."""

from typing import TYPE_CHECKING

from ...contracts.executor import Executor
from ...contracts.network import Network
from ...errors import Deep500Error
from ...measure.bounds.roofline import roofline as bound
from ...training.events import Event
from ..networks.costs import NetworkCosts, network_costs

if TYPE_CHECKING:
    from ...training.trainer import Trainer


class Constant(Event):
    """A counter that is the same for the whole run."""

    def __init__(self, name: str, value: float):
        self.name, self.value = name, value

    def before_epoch(self, trainer: "Trainer", epoch: int) -> None:
        trainer.counters[self.name] = self.value


def work(executor: Executor, batch_size: int) -> Constant:
    """The operations of forward and backward passes per example."""
    costs = _costs(executor, batch_size)
    return Constant(
        "flops per example", (costs.flops + costs.backward_flops) / batch_size
    )


def roofline(executor: Executor, batch_size: int) -> Constant:
    """The least seconds per example by the measured roofline of this machine."""
    costs = _costs(executor, batch_size)
    least = bound(costs.flops + costs.backward_flops, costs.bytes_moved).minimum_seconds
    return Constant("least seconds per example", least / batch_size)


def _costs(executor: Executor, batch_size: int) -> NetworkCosts:
    if not isinstance(executor.structure, Network) or not executor.structure.nodes:
        raise Deep500Error(
            "operations are counted of a d5.Network, not of a framework's own model"
        )
    network = executor.structure.outline()
    network.params = executor.arrays()
    costs = network_costs(network, batch_size)
    if costs.unknown:
        raise Deep500Error(
            f"operations of these nodes cannot be counted: {', '.join(costs.unknown)}"
        )
    return costs
