"""Functions that add layers to a network: each adds its nodes and parameters, and infers shapes."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from .. import registry
from ..contracts.initializer import Initializer
from ..contracts.network import Network
from ..contracts.operator import Operator, TensorSpec
from ..errors import Deep500Error

BATCH = 1  # stands for the batch while shapes are inferred


class Builder:
    """Adds layers to a network. A layer takes the names of values and returns the name of its result.

    Weights start by the initializer `weights`, biases at zero. Without a seed every parameter is a view of one zero,
    which takes no memory: such a network is for counting.
    """

    def __init__(
        self,
        name: str,
        seed: int | None,
        dtype: str,
        weights: Initializer,
        output_name: str = "logits",
    ):
        self.network = Network(name)
        self.seed = seed
        self.dtype = dtype
        self.weights = weights
        self.output_name = output_name  # of the network
        self._tensors: dict[str, TensorSpec] = {}

    def shape(self, x: str) -> tuple[int, ...]:
        """The shape of a value, without its batch."""
        return self._tensors[x].shape[1:]

    def input(self, name: str, shape: Sequence[int], dtype: str) -> str:
        self._tensors[name] = TensorSpec((BATCH, *shape), dtype)
        return self.network.add_input(name, (0, *shape), dtype)

    def param(
        self, name: str, shape: Sequence[int], rule: Initializer | None = None
    ) -> str:
        """A trained parameter; without a rule it is initialised as weights are."""
        return self._add_param(name, shape, rule or self.weights, trainable=True)

    def constant(self, name: str, value: Any, dtype: str | None = None) -> str:
        """Numbers that are not trained."""
        array = np.asarray(value, dtype or self.dtype)
        self._tensors[name] = TensorSpec(array.shape, str(array.dtype))
        return self.network.add_param(name, array, trainable=False)

    def node(
        self,
        operator: str,
        inputs: Sequence[Any],
        name: str,
        outputs: Sequence[str] | None = None,
        **attributes: Any,
    ) -> str:
        """Any operator as a layer; its result has the name of the node unless `outputs` says otherwise."""
        cls = registry.find("operators", operator)
        definition = cast(Operator, cls(**attributes))
        names = list(outputs or [name])
        arguments = [self._argument(value) for value in inputs]
        results = definition.infer(*arguments)
        shape = results[0].shape
        if min(shape, default=1) < 1:
            raise Deep500Error(
                f"the input of {self.network.name} is too small: {name!r} would have the shape "
                f"{shape[1:]}"
            )
        self.network.add_node(definition, inputs, names, name=name)
        self._tensors |= zip(names, results, strict=False)
        return names[0]

    def dense(self, name: str, x: str, outputs: int, bias: bool = True) -> str:
        """A product with a matrix along the last axis."""
        *leading, width = self.shape(x)
        weight = self.param(f"{name}.weight", (outputs, width))
        params = [weight]
        if bias:
            params.append(self.param(f"{name}.bias", (outputs,), zeros()))
        if not leading:
            return self.node("Gemm", (x, *params), name, transB=1)
        rows = self.node("Reshape", (x, (-1, width)), f"{name}.rows")
        product = self.node("Gemm", (rows, *params), f"{name}.product", transB=1)
        return self.node("Reshape", (product, (-1, *leading, outputs)), name)

    def conv(
        self,
        name: str,
        x: str,
        channels: int,
        kernel: int | tuple[int, int] = 3,
        stride: int = 1,
        padding: int | None = None,
        groups: int = 1,
        bias: bool = True,
    ) -> str:
        """A convolution; without `padding` one of stride 1 and an odd kernel keeps height and width."""
        if not isinstance(kernel, tuple):
            kernel = (kernel, kernel)
        height, width = kernel
        margins = (height // 2, width // 2)
        if padding is not None:
            margins = (padding, padding)
        inputs = self.shape(x)[0] // groups
        weight = self.param(f"{name}.weight", (channels, inputs, height, width))
        params = [weight]
        if bias:
            params.append(self.param(f"{name}.bias", (channels,), zeros()))
        return self.node(
            "Conv",
            (x, *params),
            name,
            kernel_shape=kernel,
            strides=(stride, stride),
            pads=margins + margins,
            group=groups,
        )

    def up_conv(self, name: str, x: str, channels: int) -> str:
        """A transposed convolution that doubles height and width."""
        inputs = self.shape(x)[0]
        weight = self.param(f"{name}.weight", (inputs, channels, 2, 2))
        bias = self.param(f"{name}.bias", (channels,), zeros())
        return self.node(
            "ConvTranspose",
            (x, weight, bias),
            name,
            kernel_shape=(2, 2),
            strides=(2, 2),
        )

    def batch_norm(self, name: str, x: str, epsilon: float = 1e-5) -> str:
        """Normalises every channel; in training by the batch's statistics, which update the running ones."""
        size = self.shape(x)[:1]
        mean = f"{name}.running_mean"
        variance = f"{name}.running_var"
        new_mean = f"{mean}.next"
        new_variance = f"{variance}.next"
        params = [
            self.param(f"{name}.weight", size, ones()),
            self.param(f"{name}.bias", size, zeros()),
            self._add_param(mean, size, zeros(), trainable=False),
            self._add_param(variance, size, ones(), trainable=False),
        ]
        self.node(
            "BatchNormalization",
            (x, *params),
            name,
            [name, new_mean, new_variance],
            epsilon=epsilon,
            training_mode=1,
        )
        self.network.state_updates[mean] = new_mean
        self.network.state_updates[variance] = new_variance
        return name

    def layer_norm(self, name: str, x: str, epsilon: float = 1e-5) -> str:
        """Normalises along the last axis."""
        size = self.shape(x)[-1:]
        scale = self.param(f"{name}.weight", size, ones())
        shift = self.param(f"{name}.bias", size, zeros())
        return self.node("LayerNormalization", (x, scale, shift), name, epsilon=epsilon)

    def embedding(self, name: str, indices: str, rows: int, width: int) -> str:
        """The rows of a table at these indices."""
        table = self.param(f"{name}.weight", (rows, width), normal())
        output = name
        if name == indices:  # a dataset may call its tokens the same
            output = f"{name}.rows"
        return self.node("Gather", (table, indices), output)

    def relu(self, x: str) -> str:
        return self.node("Relu", (x,), f"{x}.relu")

    def tanh(self, x: str) -> str:
        return self.node("Tanh", (x,), f"{x}.tanh")

    def gelu(self, x: str, approximate: str = "none") -> str:
        return self.node("Gelu", (x,), f"{x}.gelu", approximate=approximate)

    def dropout(self, x: str, ratio: float) -> str:
        """Sets elements to zero in training; with a ratio of 0 there is no node."""
        if ratio == 0:
            return x
        return self.node("Dropout", (x, ratio, True), f"{x}.dropout")

    def add(self, x: str, y: str) -> str:
        return self.node("Add", (x, y), f"{x}.add")

    def concat(self, name: str, values: Sequence[str], axis: int = 1) -> str:
        return self.node("Concat", values, name, axis=axis)

    def pad(self, name: str, x: str, axis: int, before: int, after: int) -> str:
        """Zeros at the two ends of an axis.

        The node has pads for every axis: ONNX Runtime computes a wrong result with fewer behind a Transpose.
        """
        rank = len(self.shape(x)) + 1
        pads = [0] * 2 * rank
        pads[axis] = before
        pads[rank + axis] = after
        return self.node("Pad", (x, tuple(pads)), name)

    def max_pool(
        self,
        x: str,
        kernel: int = 2,
        stride: int = 2,
        padding: int = 0,
        ceil: bool = False,
        name: str | None = None,
    ) -> str:
        return self.node(
            "MaxPool",
            (x,),
            name or f"{x}.pool",
            kernel_shape=(kernel, kernel),
            strides=(stride, stride),
            pads=(padding,) * 4,
            ceil_mode=int(ceil),
        )

    def average_pool(self, x: str, kernel: int = 2) -> str:
        window = (kernel, kernel)
        return self.node(
            "AveragePool",
            (x,),
            f"{x}.pool",
            kernel_shape=window,
            strides=window,
        )

    def channel_means(self, x: str) -> str:
        """The mean of every channel over height and width."""
        means = self.node("GlobalAveragePool", (x,), f"{x}.mean")
        return self.flatten(means)

    def flatten(self, x: str) -> str:
        """One axis besides the batch."""
        if len(self.shape(x)) == 1:
            return x
        return self.node("Flatten", (x,), f"{x}.flat")

    def _argument(self, value: Any) -> Any:
        """Shape and dtype of a value; a static input as it is."""
        if isinstance(value, str):
            return self._tensors[value]
        return value

    def _add_param(
        self,
        name: str,
        shape: Sequence[int],
        rule: Initializer,
        trainable: bool,
    ) -> str:
        size = tuple(shape)
        if self.seed is None:
            zero = np.zeros((), self.dtype)
            array = np.broadcast_to(zero, size)
        else:
            array = rule.array(size, self.seed, name, self.dtype)
        self._tensors[name] = TensorSpec(size, self.dtype)
        return self.network.add_param(name, array, trainable)


def zeros() -> Initializer:
    return registry.find("initializers", "Zeros")()


def ones() -> Initializer:
    return registry.find("initializers", "Constant")(1.0)


def normal(deviation: float = 0.02) -> Initializer:
    return registry.find("initializers", "Normal")(deviation)
