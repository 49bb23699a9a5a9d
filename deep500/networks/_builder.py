"""Layers as functions: each adds its nodes and parameters to a network, and knows the shapes of its inputs."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from .. import registry
from ..contracts.initialiser import Initialiser
from ..contracts.network import Network
from ..contracts.operator import Operator, Tensor
from ..errors import Deep500Error

BATCH = 1  # stands for the batch while shapes are inferred


class Builder:
    """Adds layers to a network. A layer takes the names of values and returns the name of its result.

    Weights start by the initialiser `weights`, biases at zero. Without a seed every parameter is a view of one zero,
    which takes no memory: such a network is for counting.
    """

    def __init__(
        self,
        name: str,
        seed: int | None,
        dtype: str,
        weights: Initialiser,
        output_name: str = "logits",
    ):
        self.network = Network(name)
        self.seed, self.dtype, self.weights = seed, dtype, weights
        self.output_name = output_name  # what the result will be called
        self._tensors: dict[str, Tensor] = {}

    def shape(self, x: str) -> tuple[int, ...]:
        """The shape of a value, without its batch."""
        return self._tensors[x].shape[1:]

    def input(self, name: str, shape: Sequence[int], dtype: str) -> str:
        self._tensors[name] = Tensor((BATCH, *shape), dtype)
        return self.network.add_input(name, (0, *shape), dtype)

    def param(
        self, name: str, shape: Sequence[int], rule: Initialiser | None = None
    ) -> str:
        """A trained parameter; without a rule it starts as weights do."""
        return self._add_param(name, shape, rule or self.weights, trainable=True)

    def constant(self, name: str, value: Any, dtype: str | None = None) -> str:
        """Numbers that are not trained."""
        array = np.asarray(value, dtype or self.dtype)
        self._tensors[name] = Tensor(array.shape, str(array.dtype))
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
        definition = cast(Operator, registry.find("operators", operator)(**attributes))
        names = list(outputs or [name])
        tensors = [self._tensors[i] if isinstance(i, str) else i for i in inputs]
        results = definition.infer(*tensors)
        if min(results[0].shape, default=1) < 1:
            raise Deep500Error(
                f"the input of {self.network.name} is too small: {name!r} would have the shape "
                f"{results[0].shape[1:]}"
            )
        self.network.add_node(definition, inputs, names, name=name)
        self._tensors |= zip(names, results, strict=False)
        return names[0]

    def dense(self, name: str, x: str, outputs: int, bias: bool = True) -> str:
        """A product with a matrix along the last axis."""
        *leading, width = self.shape(x)
        params = [self.param(f"{name}.weight", (outputs, width))]
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
        window = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        margins = [size // 2 if padding is None else padding for size in window]
        inputs = self.shape(x)[0] // groups
        params = [self.param(f"{name}.weight", (channels, inputs, *window))]
        if bias:
            params.append(self.param(f"{name}.bias", (channels,), zeros()))
        return self.node(
            "Conv",
            (x, *params),
            name,
            kernel_shape=window,
            strides=(stride, stride),
            pads=(*margins, *margins),
            group=groups,
        )

    def up_conv(self, name: str, x: str, channels: int) -> str:
        """A transposed convolution that doubles height and width."""
        weight = self.param(f"{name}.weight", (self.shape(x)[0], channels, 2, 2))
        bias = self.param(f"{name}.bias", (channels,), zeros())
        inputs, window = (x, weight, bias), (2, 2)
        return self.node(
            "ConvTranspose", inputs, name, kernel_shape=window, strides=window
        )

    def batch_norm(self, name: str, x: str, epsilon: float = 1e-5) -> str:
        """Normalises every channel; in training by the batch's statistics, which move the running ones."""
        size = self.shape(x)[:1]
        mean, variance = f"{name}.running_mean", f"{name}.running_var"
        params = [
            self.param(f"{name}.weight", size, ones()),
            self.param(f"{name}.bias", size, zeros()),
            self._add_param(mean, size, zeros(), trainable=False),
            self._add_param(variance, size, ones(), trainable=False),
        ]
        moved = [f"{mean}.next", f"{variance}.next"]
        self.node(
            "BatchNormalization",
            (x, *params),
            name,
            [name, *moved],
            epsilon=epsilon,
            training_mode=1,
        )
        self.network.state_updates |= {mean: moved[0], variance: moved[1]}
        return name

    def layer_norm(self, name: str, x: str, epsilon: float = 1e-5) -> str:
        """Normalises along the last axis."""
        size = self.shape(x)[-1:]
        scale = self.param(f"{name}.weight", size, ones())
        shift = self.param(f"{name}.bias", size, zeros())
        return self.node("LayerNormalization", (x, scale, shift), name, epsilon=epsilon)

    def embedding(self, name: str, indices: str, rows: int, width: int) -> str:
        """The rows of a table that whole numbers name."""
        table = self.param(f"{name}.weight", (rows, width), normal())
        output = (
            f"{name}.rows" if name == indices else name
        )  # data may call their tokens so
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

        Pads are said for every axis: ONNX Runtime mistakes fewer ones behind a Transpose.
        """
        rank = len(self.shape(x)) + 1
        pads = [0] * 2 * rank
        pads[axis], pads[rank + axis] = before, after
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
            "AveragePool", (x,), f"{x}.pool", kernel_shape=window, strides=window
        )

    def channel_means(self, x: str) -> str:
        """The mean of every channel over height and width."""
        return self.flatten(self.node("GlobalAveragePool", (x,), f"{x}.mean"))

    def flatten(self, x: str) -> str:
        """One axis besides the batch."""
        if len(self.shape(x)) == 1:
            return x
        return self.node("Flatten", (x,), f"{x}.flat")

    def _add_param(
        self, name: str, shape: Sequence[int], rule: Initialiser, trainable: bool
    ) -> str:
        size = tuple(shape)
        if self.seed is None:
            array = np.broadcast_to(np.zeros((), self.dtype), size)
        else:
            array = rule.array(size, self.seed, name, self.dtype)
        self._tensors[name] = Tensor(size, self.dtype)
        return self.network.add_param(name, array, trainable)


def zeros() -> Initialiser:
    return registry.find("initialisers", "Zeros")()


def ones() -> Initialiser:
    return registry.find("initialisers", "Constant")(1.0)


def normal(deviation: float = 0.02) -> Initialiser:
    return registry.find("initialisers", "Normal")(deviation)
