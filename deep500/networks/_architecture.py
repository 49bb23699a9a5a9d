"""The base class of the networks of this folder."""

from collections.abc import Sequence
from typing import Any, ClassVar

from .. import registry
from ..contracts.dataset import Split
from ..contracts.loss import Loss
from ..contracts.model import Model
from ..contracts.network import Network
from ..contracts.task import Task
from ..errors import Deep500Error
from ._builder import Builder


class Architecture(Model):
    """A network's definition; fields are its settings. A subclass defines the following.

    forward(builder, x, outputs)   Adds all layers for the input x; returns the value with this number of outputs.
    usual_sizes()   The shape of one input and the number of outputs in the literature.
    axes            The names of the input's axes, in order; empty if it takes any shape.
    input_dtype     "int64" for tokens; else the input has the dtype of the parameters.
    weights         The initializer of weights.
    loss            The loss that `build` attaches.
    tiny            Settings, shape and outputs of a small network of the kind, which tests run everywhere.
    """

    axes: ClassVar[tuple[str, ...]] = ("channels", "height", "width")
    input_dtype: ClassVar[str | None] = None
    weights: ClassVar[str] = "HeNormal"
    loss: ClassVar[str] = "CrossEntropy"
    tiny: ClassVar[tuple[dict[str, Any], tuple[int, ...], int]]

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        raise NotImplementedError

    def build(
        self,
        shape: Sequence[int],
        outputs: int,
        seed: int = 0,
        dtype: str = "float32",
        loss: Loss | None = None,
    ) -> Network:
        """The network for inputs "x" of this shape and "label"s, with outputs "loss" and "logits"."""
        if not loss:
            loss = registry.find("losses", self.loss)()
        network = self.predictor(shape, outputs, seed, dtype)
        return loss.attach(network, "logits", "label")

    def predictor(
        self,
        shape: Sequence[int],
        outputs: int,
        seed: int | None = 0,
        dtype: str = "float32",
        input_name: str = "x",
        output_name: str = "logits",
    ) -> Network:
        """The network without a loss. With a seed of None the parameters take no memory, which is for counting."""
        self._check_sizes(shape, outputs)
        weights = registry.find("initializers", self.weights)()
        builder = Builder(type(self).__name__, seed, dtype, weights, output_name)
        x = builder.input(input_name, shape, self.input_dtype or dtype)
        result = self.forward(builder, x, outputs)
        _rename_result(builder.network, result, output_name)
        builder.network.add_output(output_name)
        return builder.network

    def for_task(self, task: Task, train: Split, seed: int = 0) -> Network:
        shape, outputs = task.sizes(train)
        return self.predictor(
            shape,
            outputs,
            seed,
            input_name=task.input,
            output_name=task.prediction,
        )

    def parameter_count(self, shape: Sequence[int], outputs: int) -> int:
        """How many numbers are trained; counted without allocating them."""
        network = self.predictor(shape, outputs, seed=None)
        return sum(network.params[name].size for name in network.trainable)

    def _check_sizes(self, shape: Sequence[int], outputs: int) -> None:
        kind = type(self).__name__
        if self.axes and len(shape) != len(self.axes):
            axes = ", ".join(self.axes)
            raise Deep500Error(
                f"{kind} takes inputs of the shape ({axes}) without the batch: not {tuple(shape)}"
            )
        if min(shape, default=1) < 1 or outputs < 1:
            raise Deep500Error(
                f"{kind} needs sizes of 1 or more: not the shape {tuple(shape)} with {outputs} outputs"
            )


def _rename_result(network: Network, result: str, name: str) -> None:
    """Rename the value that the last node computes."""
    if result == name:
        return
    last_name = network.nodes[-1].name
    last = network.remove_node(last_name)
    outputs = [name if output == result else output for output in last.outputs]
    network.add_node(last.operator, last.inputs, outputs, last.name)
