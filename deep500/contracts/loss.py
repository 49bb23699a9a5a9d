"""The loss contract: what a network is trained to make small, as nodes of the network itself."""

from typing import ClassVar

from ..definition import Definition
from ..errors import Deep500Error, lacking
from .network import Network
from .operator import Tensor


class Loss(Definition):
    """Adds its nodes to a network; so every framework computes and differentiates the same loss."""

    target_name: ClassVar[str] = (
        "target"  # of the array that data bring, unless a task says otherwise
    )

    def add(self, network: Network, prediction: str, target: str) -> str:
        """Append the loss of `prediction` against `target`; returns the name of the scalar, "loss"."""
        raise lacking(self, "add")

    def target(self, prediction: Tensor) -> Tensor:
        """What a target for this prediction looks like: by default the same."""
        return prediction

    def attach(
        self, network: Network, prediction: str | None = None, target: str | None = None
    ) -> Network:
        """A copy of the network with this loss as its output "loss".

        The target is a value of the network, or becomes an input of it.
        """
        prediction = prediction or _only_output(network, type(self).__name__)
        target = target or self.target_name
        if prediction not in network.outputs:
            raise Deep500Error(
                f"the network has no output {prediction!r}; its outputs are: "
                f"{', '.join(network.outputs)}"
            )
        twin = network.copy()
        wanted = self.target(described(twin, prediction))
        if target not in twin.inputs and twin.producer(target) is None:
            twin.add_input(target, wanted.shape, wanted.dtype)
        shape = described(twin, target).shape
        if shape != wanted.shape:
            raise Deep500Error(
                f"{type(self).__name__} of {prediction!r} needs a target of the shape {wanted.shape}, and "
                f"{target!r} has {shape}"
            )
        if (made := self.add(twin, prediction, target)) != "loss":
            raise Deep500Error(
                f"{type(self).__name__} made {made!r}: the last node of a loss has the output ['loss'], "
                "and `add` returns its name"
            )
        twin.outputs.insert(0, made)
        return twin


def described(network: Network, name: str) -> Tensor:
    """Shape and dtype of a value of the network."""
    specs = network.specs()
    if name not in specs:
        raise Deep500Error(f"the shape of {name!r} cannot be told without running the network")
    return specs[name]


def _only_output(network: Network, loss: str) -> str:
    if len(network.outputs) != 1:
        raise Deep500Error(
            f"the network has the outputs {', '.join(network.outputs) or 'none'}: say which one {loss} "
            f"is of, {loss}().attach(network, prediction)"
        )
    return network.outputs[0]
