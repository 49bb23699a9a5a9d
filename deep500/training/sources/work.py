"""Counts the operations per example, and the least time that they take by the roofline of the machine."""

from typing import TYPE_CHECKING

from ...contracts.executor import Executor
from ...contracts.network import Network
from ...costs.network_costs import NetworkCosts, network_costs
from ...errors import Deep500Error
from ...measure.bounds.roofline import roofline as bound
from ..events import Event

if TYPE_CHECKING:
    from ..trainer import Trainer


class ConstantCounter(Event):
    """A counter that is the same for the whole run."""

    def __init__(self, name: str, value: float):
        self.name = name
        self.value = value

    def before_epoch(self, trainer: "Trainer", epoch: int) -> None:
        trainer.counters[self.name] = self.value


def work(executor: Executor, batch_size: int) -> ConstantCounter:
    """The operations of forward and backward passes per example."""
    costs = _costs(executor, batch_size)
    flops = costs.flops + costs.backward_flops
    return ConstantCounter("flops per example", flops / batch_size)


def roofline(executor: Executor, batch_size: int) -> ConstantCounter:
    """The least seconds per example by the measured roofline of this machine."""
    costs = _costs(executor, batch_size)
    flops = costs.flops + costs.backward_flops
    least_seconds = bound(flops, costs.bytes_moved).minimum_seconds
    return ConstantCounter("least seconds per example", least_seconds / batch_size)


def _costs(executor: Executor, batch_size: int) -> NetworkCosts:
    structure = executor.structure
    if not isinstance(structure, Network) or not structure.nodes:
        raise Deep500Error(
            "operations are counted of a d5.Network, not of a framework's own model"
        )
    network = structure.outline()
    network.params = executor.arrays()
    costs = network_costs(network, batch_size)
    if costs.unknown:
        names = ", ".join(costs.unknown)
        raise Deep500Error(f"operations of these nodes cannot be counted: {names}")
    return costs
