"""The model contract: a network's definition, from which a network for some data is built."""

from collections.abc import Sequence
from typing import Any

from ..definition import Definition
from ..errors import Deep500Error, lacking
from .dataset import Split
from .task import Task


class Model(Definition):
    """Builds networks. A subclass implements `build`; fields are its settings.

    build(shape, outputs, seed)   The network for inputs of this shape (of one example) with so many outputs: classes,
        numbers or tokens. Its inputs have the names of the data's arrays, and it has the outputs that the task reads;
        a loss of its own is an output named "loss". Parameters are a pure function of the seed. It may also return
        a framework's own model of one input, such as a torch.nn.Module; then the recipe's executor must accept it.
    usual_sizes()   Optional: the default shape and number of outputs.
    """

    def build(self, shape: Sequence[int], outputs: int, seed: int = 0) -> Any:
        raise lacking(self, "build")

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        name = type(self).__name__
        raise Deep500Error(
            f"{name} has no usual sizes: say the shape of one input and how many outputs"
        )

    def for_task(self, task: Task, train: Split, seed: int = 0) -> Any:
        """The network for these data; a model for several tasks names its output as the task does."""
        shape, outputs = task.sizes(train)
        return self.build(shape, outputs, seed)
