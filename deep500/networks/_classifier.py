"""What networks that sort inputs into classes have in common: their frame, and layers with parameters of their own."""

from collections.abc import Sequence

from .. import registry
from ..contracts.loss import Loss
from ..contracts.network import Network
from ..definition import Definition


class Classifier(Definition):
    """A network's definition; `layers` is all that a subclass says."""

    def build(
        self,
        shape: Sequence[int],
        classes: int,
        seed: int = 0,
        dtype: str = "float32",
        loss: Loss | None = None,
    ) -> Network:
        """The network for inputs "x" of this shape and int64 "label"s, with outputs "loss" and "logits"."""
        builder = Builder(Network(type(self).__name__), seed, dtype)
        network = builder.network
        x = network.add_input("x", (0, *shape), dtype)
        label = network.add_input("label", (0,), "int64")
        features = self.layers(builder, x, shape)
        logits = builder.dense("logits", *features, classes)
        network.add_output(
            (loss or registry.find("losses", "CrossEntropy")()).add(network, logits, label)
        )
        network.add_output(logits)
        return network

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
