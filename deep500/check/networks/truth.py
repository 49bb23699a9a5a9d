"""The true values of a network, node by node: each in float64, on inputs rounded to the dtypes of the network.

Every node is judged on the same inputs, and its derivative on the same gradients of its outputs: the true ones,
rounded once. So rounding errors do not accumulate, and a wrong node does not affect the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...contracts.network import KEY, Network, Node, take_keys
from ...contracts.operator import Operator, TensorSpec
from ...errors import (
    Deep500Error,
    Unsupported,
    one_line,
    raise_if_mistake,
)
from ...graph.specializing import RunMode, Specializer, is_open
from ..operators.depth import depth
from ..operators.examples import Example, tensors
from ..operators.formats import is_float

Gradients = tuple[np.ndarray | None, ...]


@dataclass(frozen=True, eq=False)
class NodeExample(Example):
    """A node's operator with its inputs and the gradients of its outputs."""

    output_gradients: Gradients = ()
    # the positions of the inputs whose gradients are checked
    differentiated: tuple[int, ...] = ()

    @property
    def operations_per_element(self) -> float:
        """The operations behind one element of the first output."""
        elements = max(self.outputs[0].size, 1)
        return depth(self) / elements

    @cached_property
    def seeds(self) -> Gradients:
        return self.output_gradients

    @cached_property
    def tensors(self) -> tuple:
        """Shapes and dtypes, without the key of a random operator, which `infer` does not take."""
        inputs = self.inputs
        if self.operator.random:
            inputs = inputs[: len(self.operator.inputs)]
        return tensors(inputs)

    @cached_property
    def rounded(self) -> list[np.ndarray]:
        """The true outputs, rounded once to the dtypes of the operator."""
        dtypes = [tensor.dtype for tensor in self.operator.infer(*self.tensors)]
        last = len(dtypes) - 1
        arrays = []
        for i, y in enumerate(self.outputs):
            dtype = dtypes[min(i, last)]
            arrays.append(y.astype(dtype))
        return arrays


def decided(network: Network, data: Mapping[str, np.ndarray]) -> Network:
    """The network specialized to these data: static inputs are constants, loops and branches are unrolled."""
    if not is_open(network):
        return network
    tensors = {}
    for name, array in data.items():
        dtype = network.inputs[name].dtype
        tensors[name] = TensorSpec(array.shape, dtype)
    values = {**network.params, **data}
    specializer = Specializer(network)
    mode = RunMode(derivative=True, training=True)
    specialized = specializer.specialized(tensors, values.__getitem__, mode)
    twin = network.copy()
    twin.nodes = specialized.network.nodes
    return twin


class Truth:
    """Computes the values of a network and their gradients; `forward` and `backward` are iterated once each."""

    def __init__(
        self,
        network: Network,
        y: str | None,
        data: Mapping[str, np.ndarray],
        seed: int,
    ):
        self.network = decided(network, data)
        # with the keys of random nodes as inputs
        self.keyed = self.network.copy()
        random = take_keys(self.keyed)
        keys = {}
        for name, operator in random.items():
            keys[name] = _key(name, operator, seed)
        self.initial_values: dict[str, np.ndarray] = {
            **self.keyed.params,
            **data,
            **keys,
        }
        self.values = dict(self.initial_values)
        outputs = list(network.outputs)
        if y is not None:
            outputs.append(y)
        self.nodes, _ = self.keyed.part(outputs)
        self.y = y
        self.seed = seed
        self.trainable = list(network.trainable)
        # in float64, by the name of a value; in the end only those of parameters and inputs are left
        self.gradients: dict[str, np.ndarray] = {}
        self.complete = False  # whether `backward` has come to its end

    def example(
        self,
        node: Node,
        output_gradients: Gradients = (),
        differentiated: tuple[int, ...] = (),
    ) -> NodeExample:
        """The node with its current inputs."""
        inputs = tuple(map(self._input, node.inputs))
        return NodeExample(
            node.name,
            node.operator,
            inputs,
            output_gradients=output_gradients,
            differentiated=differentiated,
        )

    def _input(self, name: Any) -> Any:
        """The value of this name; an input that is not a name stands for itself."""
        if isinstance(name, str):
            return self.values[name]
        return name

    def forward(self) -> Iterator[tuple[Node, NodeExample]]:
        """Compute the nodes in order, and yield each with its inputs."""
        for node in self.nodes:
            example = self.example(node)
            try:
                outputs = example.rounded
            except Exception as error:
                raise_if_mistake(error)
                operator = type(node.operator).__name__
                reason = one_line(error)
                raise Deep500Error(
                    f"the reference cannot compute node {node.name!r} ({operator}): {reason}"
                ) from error
            self.values |= zip(node.outputs, outputs, strict=False)
            yield node, example

    def backward(self) -> Iterator[tuple[Node, NodeExample]]:
        """The nodes that gradients of y flow through, from the last to the first.

        Raises `Unsupported` at a node that has no derivative.
        """
        if self.y is None:
            return
        varying = self._varying()
        loss = self.values[self.y]
        self.gradients = {self.y: np.ones_like(loss, "float64")}
        for node in reversed(self.nodes):
            reached = any(name in self.gradients for name in node.outputs)
            if not reached or varying.isdisjoint(node.outputs):
                continue
            if not node.operator.differentiable:
                operator = type(node.operator).__name__
                raise Unsupported(
                    f"node {node.name!r} ({operator}) has no derivative: what "
                    "comes before it gets no gradient"
                )
            output_gradients = tuple(map(self._rounded_gradient, node.outputs))
            places = self._varying_places(node, varying)
            example = self.example(node, output_gradients, places)
            yield node, example
            self._add(node, example.gradients, varying)
            for name in node.outputs:
                self.gradients.pop(name, None)
        self.complete = True

    def gradient(self, name: str) -> np.ndarray:
        """The gradient by a parameter, rounded to its dtype; zeros if y does not depend on it."""
        rounded = self._rounded_gradient(name)
        if rounded is None:
            return np.zeros_like(self.values[name])
        return rounded

    def _varying_places(self, node: Node, varying: set[str]) -> tuple[int, ...]:
        """The positions of a node's float inputs that vary."""
        places = []
        for place, name in enumerate(node.inputs):
            if not isinstance(name, str) or name not in varying:
                continue
            if is_float(self.values[name]):
                places.append(place)
        return tuple(places)

    def _varying(self) -> set[str]:
        """The names of the values that depend on trained parameters; if there are none, on any float input."""
        varying = set(self.trainable) or self._float_inputs()
        for node in self.nodes:
            if any(isinstance(name, str) and name in varying for name in node.inputs):
                varying.update(node.outputs)
        return varying

    def _float_inputs(self) -> set[str]:
        """The names of the float values that no node computes."""
        inputs = {name for name, value in self.values.items() if is_float(value)}
        for node in self.nodes:
            inputs.difference_update(node.outputs)
        return inputs

    def _rounded_gradient(self, name: str) -> np.ndarray | None:
        if name not in self.gradients:
            return None
        return self.gradients[name].astype(self.values[name].dtype)

    def _add(self, node: Node, gradients: Sequence[Any], varying: set[str]) -> None:
        for name, gradient in zip(node.inputs, gradients, strict=True):
            if gradient is None or not isinstance(name, str) or name not in varying:
                continue
            if name in self.gradients:
                gradient = self.gradients[name] + gradient
            self.gradients[name] = gradient


def _key(name: str, operator: Operator, seed: int) -> np.ndarray:
    """The key that a random operator draws by, as an array."""
    node = name.removeprefix(KEY)
    integers = operator.key(node, 0, seed=seed)
    return np.array(integers, np.int64)
