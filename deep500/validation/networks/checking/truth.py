"""What is right in a network, node by node: each in float64, on inputs rounded to what the frameworks hold.

Every node is judged on the same inputs, and its derivative on the same gradients of its outputs: the right ones,
rounded once. So rounding errors do not pile up, and a node that is wrong spoils no other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ....contracts.network import KEY, Network, Node, take_keys
from ....contracts.operator import Operator, Tensor
from ....contracts.specialising import Mode, Specialiser, is_open
from ....errors import Deep500Error, Unsupported, one_line
from ...checking.examples import Example, tensors
from ...checking.formats import is_float

Gradients = tuple[np.ndarray | None, ...]


@dataclass(frozen=True, eq=False)
class NodeExample(Example):
    """A node's operator with its inputs and the gradients of its outputs."""

    output_gradients: Gradients = ()
    differentiated: tuple[
        int, ...
    ] = ()  # the places of inputs whose gradients are asked for

    @cached_property
    def seeds(self) -> Gradients:
        return self.output_gradients

    @cached_property
    def tensors(self) -> tuple:
        """Without the key of a random operator, which is no input for `infer`."""
        values = (
            self.inputs[: len(self.operator.inputs)]
            if self.operator.random
            else self.inputs
        )
        return tensors(values)

    @cached_property
    def rounded(self) -> list[np.ndarray]:
        """The outputs as a framework holds them: the truth, rounded once."""
        kinds = [made.dtype for made in self.operator.infer(*self.tensors)]
        found = []
        for i, y in enumerate(self.outputs):
            dtype = kinds[min(i, len(kinds) - 1)]
            found.append(y.astype(dtype))
        return found


def decided(network: Network, data: Mapping[str, np.ndarray]) -> Network:
    """The network with what these data decide on: constants in static inputs, loops and branches written out."""
    if not is_open(network):
        return network
    specs = network.inputs
    tensors = {name: Tensor(x.shape, specs[name].dtype) for name, x in data.items()}
    known = {**network.params, **data}
    specialiser = Specialiser(network)
    mode = Mode(derivative=True, training=True)
    found = specialiser.specialised(tensors, known.__getitem__, mode).network
    twin = network.copy()
    twin.nodes = found.nodes
    return twin


class Truth:
    """The values of a network and their gradients, made in order; both halves are iterated once."""

    def __init__(
        self, network: Network, y: str | None, data: Mapping[str, np.ndarray], seed: int
    ):
        self.network = decided(network, data)
        self.keyed = self.network.copy()  # with the keys of random nodes as inputs
        random = take_keys(self.keyed)
        keys = {name: _key(name, operator, seed) for name, operator in random.items()}
        self.given: dict[str, np.ndarray] = {**self.keyed.params, **data, **keys}
        self.values = dict(self.given)
        wanted = [*network.outputs, *([] if y is None else [y])]
        self.nodes = self.keyed.part(wanted)[0]
        self.y, self.seed = y, seed
        self.trainable = list(network.trainable)
        self.gradients: dict[
            str, np.ndarray
        ] = {}  # in float64, by value; of parameters at the end
        self.complete = False  # whether gradients have reached all that is trained

    def example(
        self,
        node: Node,
        output_gradients: Gradients = (),
        differentiated: tuple[int, ...] = (),
    ) -> NodeExample:
        inputs = tuple(self._input(node, i) for i in range(len(node.inputs)))
        return NodeExample(
            node.name,
            node.operator,
            inputs,
            output_gradients=output_gradients,
            differentiated=differentiated,
        )

    def _input(self, node: Node, place: int) -> Any:
        name = node.inputs[place]
        return self.values[name] if isinstance(name, str) else name

    def forward(self) -> Iterator[tuple[Node, NodeExample]]:
        """The nodes in order, each with its inputs."""
        for node in self.nodes:
            example = self.example(node)
            try:
                made = example.rounded
            except Exception as error:
                raise Deep500Error(
                    f"the reference cannot compute node {node.name!r} "
                    f"({type(node.operator).__name__}): {one_line(error)}"
                ) from error
            self.values |= zip(node.outputs, made, strict=False)
            yield node, example

    def backward(self) -> Iterator[tuple[Node, NodeExample]]:
        """The nodes that gradients of y flow through, from the last to the first."""
        if self.y is None:
            return
        varying = self._varying()
        self.gradients = {self.y: np.ones_like(self.values[self.y], "float64")}
        for node in reversed(self.nodes):
            reached = any(name in self.gradients for name in node.outputs)
            if not reached or varying.isdisjoint(node.outputs):
                continue
            if not node.operator.differentiable:
                raise Unsupported(
                    f"node {node.name!r} ({type(node.operator).__name__}) has no derivative: what "
                    "comes before it gets no gradient"
                )
            given = tuple(map(self._rounded_gradient, node.outputs))
            places = self._places(node, varying)
            example = self.example(node, given, places)
            yield node, example
            self._add(node, example.gradients, varying)
            for name in node.outputs:
                self.gradients.pop(name, None)
        self.complete = True

    def gradient(self, name: str) -> np.ndarray:
        """The gradient by a parameter as a framework holds it; zeros where y does not depend on it."""
        rounded = self._rounded_gradient(name)
        return np.zeros_like(self.values[name]) if rounded is None else rounded

    def _places(self, node: Node, varying: set[str]) -> tuple[int, ...]:
        """The places of a node's float inputs that vary."""
        found = []
        for place, name in enumerate(node.inputs):
            if (
                isinstance(name, str)
                and name in varying
                and is_float(self.values[name])
            ):
                found.append(place)
        return tuple(found)

    def _varying(self) -> set[str]:
        """What depends on what is trained, or on any float input where nothing is."""
        floats = [name for name, value in self.values.items() if is_float(value)]
        made = {name for node in self.nodes for name in node.outputs}
        found = {*(self.trainable or [name for name in floats if name not in made])}
        for node in self.nodes:
            if not found.isdisjoint(
                name for name in node.inputs if isinstance(name, str)
            ):
                found.update(node.outputs)
        return found

    def _rounded_gradient(self, name: str) -> np.ndarray | None:
        if name not in self.gradients:
            return None
        return self.gradients[name].astype(self.values[name].dtype)

    def _add(self, node: Node, gradients: Sequence[Any], varying: set[str]) -> None:
        for name, gradient in zip(node.inputs, gradients, strict=True):
            if gradient is None or not isinstance(name, str) or name not in varying:
                continue
            before = self.gradients.get(name)
            self.gradients[name] = gradient if before is None else before + gradient


def _key(name: str, operator: Operator, seed: int) -> np.ndarray:
    words = operator.key(name.removeprefix(KEY), 0, seed=seed)
    return np.array(words, np.int64)
