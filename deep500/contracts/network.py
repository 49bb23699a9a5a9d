"""The network contract: a framework-independent, editable graph of operators."""

import os
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from .. import registry
from ..canonical import shown
from ..errors import Deep500Error
from . import random_key
from .format import Format
from .inputs import static_input
from .layout import Layout
from .operator import Adapted, Operator, Tensor

KEY = "deep500:key:"  # what begins the name of an input that a random node draws by


@dataclass(frozen=True)
class Node:
    """One operator in a network. An input is the name of a value; None is an optional one left out; a tuple static."""

    name: str
    operator: Operator
    inputs: tuple[str | tuple | None, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Subgraph:
    """Nodes that an operator runs by itself: the branch of an If, the body of a Loop. They see its inputs only."""

    inputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]

    def infer(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        known = dict(zip(self.inputs, tensors, strict=True))
        for node in self.nodes:
            made = node.operator.infer(
                *(known[i] if isinstance(i, str) else i for i in node.inputs)
            )
            known |= zip(node.outputs, made, strict=False)
        return tuple(known[name] for name in self.outputs)


def in_evaluation(node: Node) -> Node:
    """The node as it is when nothing is learnt."""
    if inner := {
        name: replace(graph, nodes=tuple(map(in_evaluation, graph.nodes)))
        for name, graph in node.operator.settings.items()
        if isinstance(graph, Subgraph)
    }:
        return replace(node, operator=replace(node.operator, **inner))
    if "training_mode" in node.operator.static:
        place = [*node.operator.inputs].index("training_mode")
        return replace(
            node, inputs=tuple(None if i == place else name for i, name in enumerate(node.inputs))
        )
    if not node.operator.settings.get("training_mode"):
        return node
    return replace(node, operator=replace(node.operator, training_mode=0))  # type: ignore[call-arg]


def take_keys(network: "Network") -> dict[str, Operator]:
    """Make the key of every random node an input of the network; returns the operators by the names of these inputs."""
    found = {}
    for i, node in enumerate(network.nodes):
        if node.operator.random:
            name = network.add_input(f"{KEY}{node.name}", (random_key.WORDS,), "int64")
            network.nodes[i] = replace(node, inputs=tuple(node.operator.keyed(node.inputs, name)))
            found[name] = node.operator
    return found


class Network:
    """Nodes, the inputs they start from, the parameters they own and the outputs that are asked for.

    A parameter is a NumPy array; one named in `trainable` gets gradients, the others are state (running statistics).
    `state_updates` says which output replaces which parameter after a training step.
    """

    def __init__(self, name: str = "network"):
        self.name = name
        self.nodes: list[Node] = []
        self.inputs: dict[str, Tensor] = {}
        self.outputs: list[str] = []
        self.params: dict[str, np.ndarray] = {}
        self.trainable: list[str] = []
        self.state_updates: dict[str, str] = {}

    def add_input(self, name: str, shape: Sequence[int], dtype: str = "float32") -> str:
        """A value that every call brings; a first dimension of 0 stands for the batch."""
        self._new(name)
        self.inputs[name] = Tensor(tuple(shape), dtype)
        return name

    def add_param(self, name: str, value: np.ndarray, trainable: bool = True) -> str:
        self._new(name)
        self.params[name] = value
        if trainable:
            self.trainable.append(name)
        return name

    def add_output(self, name: str) -> None:
        self._known(name)
        self.outputs.append(name)

    def add_node(
        self,
        operator: Operator | Adapted | str,
        inputs: Sequence[Any],
        outputs: Sequence[str] | None = None,
        name: str | None = None,
        **attributes: Any,
    ) -> str:
        """Append a node (an operator, or its name with attributes); returns the name of its first output.

        An input is the name of a value, None for an optional one left out, or the numbers of a static one in any form.
        """
        if isinstance(operator, Adapted):
            operator = operator.operator
        if not isinstance(operator, Operator):
            operator = cast(Operator, registry.find("operators", operator)(**attributes))
        given = tuple(self._input(operator, i, inputs) for i in range(len(inputs)))
        if any(node.name == name for node in self.nodes):
            raise Deep500Error(f"the name {name!r} is taken: every node of a network has its own")
        name = name or self._free(type(operator).__name__)
        made = tuple(outputs or [self._free(f"{name}.{operator.result_names(1)[0]}")])
        for value in made:
            self._new(value)
        self.nodes.append(Node(name, operator, given, made))
        return made[0]

    def _input(self, operator: Operator, place: int, inputs: Sequence[Any]) -> Any:
        """An input of a node as it is kept: the name of a value, the value of a static input, or None."""
        value = inputs[place]
        if isinstance(value, str):
            self._known(value)
        if value is None or isinstance(value, str):
            return value
        name = operator.input_names(len(inputs))[place]
        if name in operator.static:
            return static_input(operator, name, value)
        raise Deep500Error(
            f"the input {name!r} of {type(operator).__name__} is {shown(value)}: give the name of a value; "
            "`add_param` makes one of an array"
        )

    def remove_node(self, name: str) -> Node:
        """Take a node out; what used its outputs must be rewired before the network runs again."""
        node = self.node(name)
        self.nodes.remove(node)
        return node

    def add_edge(self, value: str, node: str, position: int) -> None:
        """Feed a value to an input of a node, in the place of whatever it had."""
        self._known(value)
        self._rewire(node, position, value)

    def remove_edge(self, node: str, position: int) -> None:
        """Leave an input of a node open; only an optional one may stay so."""
        self._rewire(node, position, None)

    def node(self, name: str) -> Node:
        for node in self.nodes:
            if node.name == name:
                return node
        raise Deep500Error(
            f"no node is named {name!r}; there are: {', '.join(n.name for n in self.nodes)}"
        )

    def feed_tensor(self, name: str, value: np.ndarray) -> None:
        """Replace a parameter."""
        if name not in self.params:
            raise Deep500Error(
                f"no parameter is named {name!r}; there are: {', '.join(self.params)}"
            )
        array, old = np.asarray(value, self.params[name].dtype), self.params[name]
        if array.shape != old.shape:
            raise Deep500Error(
                f"the parameter {name!r} has the shape {old.shape}, not {array.shape}"
            )
        self.params[name] = array

    def fetch_tensors(self, names: Iterable[str]) -> list[np.ndarray]:
        names = list(names)
        if missing := [n for n in names if n not in self.params]:
            raise Deep500Error(
                f"no parameter is named {missing[0]!r}; there are: {', '.join(self.params)}"
            )
        return [self.params[n] for n in names]

    def get_params(self) -> list[str]:
        """The names of what is trained."""
        return list(self.trainable)

    def gradient(self, y: str = "loss") -> list[tuple[str, str]]:
        """(parameter, name of its gradient by y) for everything that is trained."""
        self._known(y)
        return [(name, f"{name}.grad") for name in self.trainable]

    def ordered(self) -> list[Node]:
        """The nodes in an order in which every value is made before it is used."""
        ready, todo, order = {*self.inputs, *self.params}, list(self.nodes), []
        while todo:
            later = []
            for node in todo:
                if all(i in ready for i in node.inputs if isinstance(i, str)):
                    order.append(node)
                    ready.update(node.outputs)
                else:
                    later.append(node)
            if len(later) == len(todo):
                lacking = next(i for i in todo[0].inputs if isinstance(i, str) and i not in ready)
                raise Deep500Error(
                    f"node {todo[0].name!r} needs {lacking!r}, which nothing makes (or a cycle does)"
                )
            todo = later
        return order

    def part(self, outputs: Collection[str], training: bool = True) -> tuple[list[Node], list[str]]:
        """The nodes, in order, and the inputs that these outputs need; without training, as they are in evaluation."""
        used, found = set(outputs), []
        for node in reversed(self.ordered()):
            if not used.isdisjoint(node.outputs):
                used.update(i for i in node.inputs if isinstance(i, str))
                found.append(node if training else in_evaluation(node))
        return found[::-1], [name for name in self.inputs if name in used]

    def computable(self, given: Collection[str]) -> list[str]:
        """The outputs that these inputs suffice for: without labels, all but the loss."""
        ready = {*given, *self.params}
        for node in self.ordered():
            if all(i in ready for i in node.inputs if isinstance(i, str)):
                ready.update(node.outputs)
        if not (found := [name for name in self.outputs if name in ready]):
            raise Deep500Error(
                f"the network {self.name!r} needs {', '.join(self.inputs)}, and these came: "
                f"{', '.join(given) or 'none'}"
            )
        return found

    def check_shapes(self, names: Iterable[str], shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Refuse shapes of inputs that are missing or wrong."""
        batches = {}
        for name in names:
            if name not in shapes:
                raise Deep500Error(
                    f"the input {name!r} is missing; these came: {', '.join(shapes) or 'none'}"
                )
            wanted, shape = self.inputs[name].shape, tuple(shapes[name])
            open_batch = wanted[:1] == (0,)
            if len(shape) != len(wanted) or shape[open_batch:] != wanted[open_batch:]:
                text = ", ".join(map(str, ("batch", *wanted[1:]) if open_batch else wanted))
                raise Deep500Error(
                    f"the input {name!r} has the shape {shape}, and ({text}) is wanted"
                )
            if open_batch:
                batches[name] = shape[0]
        if len(set(batches.values())) > 1:
            raise Deep500Error(
                f"the inputs bring batches of different sizes: "
                f"{', '.join(f'{name} {n}' for name, n in batches.items())}"
            )

    def warn_before_training(self) -> None:
        """Say what would train differently from what its user means."""
        if frozen := [n.name for n in self.nodes if n.operator.settings.get("training_mode") == 0]:
            warnings.warn(
                f"{', '.join(frozen[:3])} ({len(frozen)} in all) will be trained with fixed running "
                "statistics, as exporters write them; set training_mode=1 to use those of the batch",
                stacklevel=3,
            )

    @classmethod
    def from_onnx(cls, source: Any) -> "Network":
        """Read a network from an ONNX file (its path or its bytes) or from an onnx.ModelProto."""
        return _onnx().read(source)

    def to_onnx(self, path: "str | os.PathLike[str] | None" = None) -> Any:
        """The network as an onnx.ModelProto, written to `path` if there is one."""
        return _onnx().write(self, path)

    def backward_network(self, y: str = "loss", batch: int = 1, training: bool = True) -> Any:
        """An onnx.ModelProto that computes the outputs and the gradients of y, for batches of this size.

        Its inputs are the network's, the parameters and the keys of random nodes; gradients have the names that
        `gradient` gives.
        """
        self._known(y)
        take_keys(twin := self.copy())
        shapes = {
            name: (batch, *t.shape[1:]) if t.shape[:1] == (0,) else t.shape
            for name, t in twin.inputs.items()
        }
        return _onnx().backward(twin, y, shapes, training)

    def layout(self) -> Layout:
        """Where each trained parameter lies in flat buffers."""
        params = {name: self.params[name] for name in self.trainable}
        return Layout.of({name: Tensor(p.shape, str(p.dtype)) for name, p in params.items()})

    def outline(self) -> "Network":
        """The same structure with the shapes and dtypes of the parameters in the place of their arrays."""
        twin = self._twin()
        twin.params = {name: Tensor(p.shape, str(p.dtype)) for name, p in self.params.items()}  # type: ignore[misc]
        return twin

    def copy(self) -> "Network":
        """The same structure with its own arrays."""
        twin = self._twin()
        twin.params = {name: value.copy() for name, value in self.params.items()}
        return twin

    def _twin(self) -> "Network":
        twin = Network(self.name)
        twin.nodes, twin.inputs, twin.outputs = (
            list(self.nodes),
            dict(self.inputs),
            list(self.outputs),
        )
        twin.trainable, twin.state_updates = list(self.trainable), dict(self.state_updates)
        return twin

    def _values(self) -> set[str]:
        return {*self.inputs, *self.params, *(o for n in self.nodes for o in n.outputs)}

    def _known(self, name: str) -> None:
        if name not in self._values():
            raise Deep500Error(
                f"no value is named {name!r}; there are: {', '.join(sorted(self._values()))}"
            )

    def _new(self, name: str) -> None:
        if name in self._values():
            raise Deep500Error(f"the name {name!r} is taken: every value of a network has its own")

    def _free(self, stem: str) -> str:
        taken = self._values() | {n.name for n in self.nodes}
        return next(
            name
            for k in range(len(taken) + 1)
            if (name := f"{stem}_{k}" if k else stem) not in taken
        )

    def _rewire(self, node: str, position: int, value: str | None) -> None:
        old = self.node(node)
        if not old.inputs:
            raise Deep500Error(f"node {node!r} has no inputs")
        if not 0 <= position < len(old.inputs):
            raise Deep500Error(
                f"node {node!r} has inputs 0 to {len(old.inputs) - 1}, not {position}"
            )
        inputs = (*old.inputs[:position], value, *old.inputs[position + 1 :])
        self.nodes[self.nodes.index(old)] = Node(old.name, old.operator, inputs, old.outputs)


def _onnx() -> Format:
    return cast(Format, registry.find("formats", "Onnx")())
