"""What networks that sort inputs into classes have in common: their frame, and layers with parameters of their own."""

from collections.abc import Sequence

from .. import registry
from ..contracts.dataset import Split
from ..contracts.loss import Loss
from ..contracts.model import Model
from ..contracts.network import Network
from ..contracts.task import Task


class Classifier(Model):
    """A network's definition; `layers` is all that a subclass says."""

    def build(
        self,
        shape: Sequence[int],
        outputs: int,
        seed: int = 0,
        dtype: str = "float32",
        loss: Loss | None = None,
    ) -> Network:
        """The network for inputs "x" of this shape and int64 "label"s, with outputs "loss" and "logits"."""
        loss = loss or registry.find("losses", "CrossEntropy")()
        return loss.attach(self.predictor(shape, outputs, seed, dtype), "logits", "label")

    def predictor(
        self,
        shape: Sequence[int],
        outputs: int,
        seed: int = 0,
        dtype: str = "float32",
        input_name: str = "x",
        output_name: str = "logits",
    ) -> Network:
        """The network without a loss: one input of this shape, one output with so many numbers."""
        builder = Builder(Network(type(self).__name__), seed, dtype)
        x = builder.network.add_input(input_name, (0, *shape), dtype)
        features = self.layers(builder, x, shape)
        builder.network.add_output(builder.dense(output_name, *features, outputs))
        return builder.network

    def for_task(self, task: Task, train: Split, seed: int = 0) -> Network:
        shape, outputs = task.sizes(train)
        return self.predictor(
            shape, outputs, seed, input_name=task.input, output_name=task.prediction
        )

    def layers(self, builder: "Builder", x: str, shape: Sequence[int]) -> tuple[str, int]:
        """Add everything before the last dense layer; returns the name of the features and how many there are."""
        raise NotImplementedError


class Builder:
    """Adds layers to a network; weights start by He's rule, biases at zero."""

    def __init__(self, network: Network, seed: int, dtype: str):
        self.network, self.seed, self.dtype = network, seed, dtype

    def dense(self, name: str, x: str, inputs: int, outputs: int) -> str:
        weight, bias = self._params(name, (outputs, inputs))
        return self.network.add_node("Gemm", (x, weight, bias), [name], name=name, transB=1)

    def conv(self, name: str, x: str, inputs: int, outputs: int, kernel: int = 3) -> str:
        """A convolution that keeps height and width."""
        weight, bias = self._params(name, (outputs, inputs, kernel, kernel))
        return self.network.add_node(
            "Conv",
            (x, weight, bias),
            [name],
            name=name,
            kernel_shape=(kernel, kernel),
            pads=(kernel // 2,) * 4,
        )

    def relu(self, x: str) -> str:
        return self.network.add_node("Relu", (x,), [f"{x}.relu"], name=f"{x}.relu")

    def pool(self, x: str) -> str:
        """The maximum of every 2 x 2 window."""
        return self.network.add_node(
            "MaxPool", (x,), [f"{x}.pool"], name=f"{x}.pool", kernel_shape=(2, 2), strides=(2, 2)
        )

    def flatten(self, x: str) -> str:
        return self.network.add_node("Flatten", (x,), [f"{x}.flat"], name=f"{x}.flat")

    def _params(self, name: str, shape: tuple[int, ...]) -> tuple[str, str]:
        weight, bias = f"{name}.weight", f"{name}.bias"
        for param, rule, size in ((weight, "HeNormal", shape), (bias, "Zeros", shape[:1])):
            initialiser = registry.find("initialisers", rule)()
            self.network.add_param(param, initialiser.array(size, self.seed, param, self.dtype))
        return weight, bias
