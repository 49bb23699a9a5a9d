"""The network contract: a framework-independent, editable graph of operators."""

import fnmatch
import inspect
import os
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, cast

import numpy as np

from .. import registry
from ..canonical import shown
from ..errors import Deep500Error, unknown
from ..graph import cutting, shape_inference
from ..graph.graph import Graph, Node, Subgraph, in_evaluation
from ..graph.shape_inference import Sizes, Specs, spec_of
from ..graph.shape_tracking import ShapeTracker
from ..graph.weights import (
    host_array,
    listed,
    matching_weights,
    read_weights,
    write_weights,
)
from . import random_key
from .format import Format
from .inputs import static_input
from .layout import Layout
from .operator import Adapted, Operator, TensorSpec

__all__ = ["KEY", "Network", "Node", "Subgraph", "in_evaluation", "take_keys"]

KEY = "deep500:key:"  # prefix of the inputs that carry the keys of random nodes


def take_keys(network: "Network") -> dict[str, Operator]:
    """Make the key of every random node an input of the network; returns the operators by the names of these inputs."""
    operators = {}
    for node in network.nodes:
        operator = node.operator
        if operator.random:
            name = f"{KEY}{node.name}"
            network.add_input(name, (random_key.WORDS,), "int64")
            inputs = tuple(operator.keyed(node.inputs, name))
            network.replace_node(node.name, replace(node, inputs=inputs))
            operators[name] = operator
    return operators


class Network:
    """A graph of nodes with its inputs, parameters and outputs.

    A parameter is a NumPy array; one named in `trainable` gets gradients, the others are state (running statistics).
    `state_updates` maps parameters to the outputs that replace them after a training step. Dimensions of inputs may
    have names, such as ("batch", 3, "height", "width"): in one call, a name has the same size everywhere.
    """

    def __init__(self, name: str = "network"):
        self.name = name
        self.inputs: dict[str, TensorSpec] = {}
        self.outputs: list[str] = []
        self.params: dict[str, np.ndarray] = {}
        self.trainable: list[str] = []
        self.state_updates: dict[str, str] = {}
        # what reading its file has lost, for training
        self.remarks: list[str] = []
        self._graph = Graph()
        self._shapes = ShapeTracker(self)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes in the order in which they were added."""
        return tuple(self._graph.nodes.values())

    @nodes.setter
    def nodes(self, nodes: Iterable[Node]) -> None:
        """Replace all nodes; they are not checked before the network runs."""
        self._graph = Graph(nodes)
        self._shapes = ShapeTracker(self)

    # ---- building

    def add_input(
        self, name: str, shape: Sequence[int | str], dtype: str = "float32"
    ) -> str:
        """Add a value that every call passes. A dimension is a size or a name; 0 as the first one is the batch."""
        self._check_free(name)
        checked_shape = shape_inference.checked_shape(name, shape)
        self.inputs[name] = TensorSpec(checked_shape, dtype)
        return name

    def add_param(self, name: str, value: np.ndarray, trainable: bool = True) -> str:
        self._check_free(name)
        try:
            spec_of(value)
        except AttributeError:
            raise Deep500Error(
                f"the parameter {name!r} is {shown(value)}: give an array, such as np.array([1, 2], 'float32')"
            ) from None
        self.params[name] = value
        if trainable:
            self.trainable.append(name)
        return name

    def add_output(self, name: str) -> None:
        self._check_exists(name)
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

        An input is the name of a value, None for an omitted optional one, or the value of a static one in any form.
        """
        operator = _operator(operator, attributes)
        if not isinstance(inputs, Sequence) or isinstance(inputs, str):
            raise Deep500Error(
                f"the inputs of a node are a list of names, such as ['x'], and not {shown(inputs)}"
            )
        operator.input_names(len(inputs))  # raises if there are too many
        values = tuple(self._input(operator, i, inputs) for i in range(len(inputs)))
        if name in self._graph.nodes:
            raise Deep500Error(
                f"the name {name!r} is taken: every node of a network has its own"
            )
        name = name or self._free_name(type(operator).__name__)
        [first_result] = operator.result_names(1)
        if not outputs:
            outputs = [self._free_name(f"{name}.{first_result}")]
        for value in outputs:
            self._check_free(value)
        node = Node(name, operator, values, tuple(outputs))
        self._append(node)
        return node.outputs[0]

    def _append(self, node: Node) -> None:
        self._graph.append(node)
        try:
            self._shapes.follow(node)
        except Deep500Error:
            self._graph.remove(node.name)
            raise

    def _input(self, operator: Operator, place: int, inputs: Sequence[Any]) -> Any:
        """An input as a node stores it: the name of a value, the value of a static input, or None."""
        value = inputs[place]
        if value is None:
            return None
        if isinstance(value, str):
            self._check_input_exists(operator, value)
            return value
        name = operator.input_names(len(inputs))[place]
        if name in operator.static:
            return static_input(operator, name, value)
        owner = type(operator).__name__
        raise Deep500Error(
            f"the input {name!r} of {owner} is {shown(value)}: give the name of a value; "
            f"`add_param({name!r}, array, trainable=False)` makes a constant of an array"
        )

    # ---- editing

    def remove_node(self, name: str) -> Node:
        """Remove a node; nodes that use its outputs must be rewired before the network runs again."""
        node = self._graph.remove(self.node(name).name)
        self._shapes.forget(node)
        return node

    def replace_node(
        self,
        name: str,
        replacement: Node | Operator | Adapted | str,
        **attributes: Any,
    ) -> Node:
        """Replace a node by another operator (or by a node with the same outputs); returns the old node."""
        old = self.node(name)
        if isinstance(replacement, Node):
            new = replace(replacement, name=name)
        else:
            new = replace(old, operator=_operator(replacement, attributes))
        if new.outputs != old.outputs:
            old_outputs = ", ".join(old.outputs)
            new_outputs = ", ".join(new.outputs)
            raise Deep500Error(
                f"node {name!r} makes {old_outputs}: what replaces it makes the same, not "
                f"{new_outputs}"
            )
        self._replace(old, new)
        return old

    def set_attributes(self, name: str, **attributes: Any) -> Node:
        """Give attributes of a node's operator other values, the others stay; returns the old node."""
        operator = self.node(name).operator
        settings = operator.settings
        for attribute in attributes:
            if attribute not in settings:
                owner = type(operator).__name__
                raise unknown(f"attribute of {owner}", attribute, [*settings])
        return self.replace_node(name, replace(operator, **attributes))

    def add_edge(self, value: str, node: str, position: int) -> None:
        """Connect a value to an input of a node, replacing what was connected to it."""
        self._check_exists(value)
        self._connect(self.node(node), position, value)

    def remove_edge(self, node: str, position: int) -> None:
        """Disconnect an input of a node; only an optional one may stay disconnected."""
        self._connect(self.node(node), position, None)

    def rewire(self, old: str, new: str) -> None:
        """Connect `new` wherever a node takes `old`; the network's outputs keep their names."""
        self._check_exists(new)
        for node in self.consumers(old):
            inputs = tuple(new if name == old else name for name in node.inputs)
            self._replace(node, replace(node, inputs=inputs))

    def _connect(self, node: Node, position: int, value: str | None) -> None:
        places = max(len(node.inputs), len(node.operator.inputs))
        if not places:
            raise Deep500Error(f"node {node.name!r} has no inputs")
        if not 0 <= position < places:
            raise Deep500Error(
                f"node {node.name!r} has inputs 0 to {places - 1}, not {position}"
            )
        missing = position + 1 - len(node.inputs)
        inputs = [*node.inputs, *[None] * missing]
        inputs[position] = value
        self._replace(node, replace(node, inputs=tuple(inputs)))

    def _replace(self, old: Node, new: Node) -> None:
        """Replace a node; if the new one does not fit, raise a Deep500Error and leave the network unchanged."""
        for value in new.values - old.values:
            self._check_exists(value)
            if self._graph.depends(value, old.name):
                raise Deep500Error(
                    f"node {old.name!r} cannot take {value!r}, which is computed from what it makes: "
                    "that is a cycle"
                )
        self._graph.replace(new)
        try:
            self._shapes.follow(new)
        except Deep500Error:
            self._graph.replace(old)
            raise

    # ---- looking

    def node(self, name: str) -> Node:
        try:
            return self._graph.nodes[name]
        except KeyError:
            names = listed(self._graph.nodes)
            raise Deep500Error(
                f"no node is named {name!r}; there are: {names}"
            ) from None

    def producer(self, value: str) -> Node | None:
        """The node that computes a value; None for an input or a parameter."""
        name = self._graph.producers.get(value)
        if name is None:
            return None
        return self._graph.nodes[name]

    def consumers(self, value: str) -> list[Node]:
        """The nodes that take a value as an input."""
        return self._graph.consumers(value)

    def get_input_nodes(self) -> list[str]:
        """The names of the inputs."""
        return list(self.inputs)

    def get_output_nodes(self) -> list[str]:
        """The names of the outputs."""
        return list(self.outputs)

    def get_params(self) -> list[str]:
        """The names of the trained parameters."""
        return list(self.trainable)

    def gradient(self, y: str = "loss") -> list[tuple[str, str]]:
        """(parameter, name of its gradient by y) for every trained parameter."""
        self._check_exists(y)
        return [(name, f"{name}.grad") for name in self.trainable]

    def ordered(self) -> list[Node]:
        """The nodes in an order in which every value is computed before it is used."""
        sources = {*self.inputs, *self.params}
        self._graph.check_closed(sources)
        return self._graph.ordered()

    def part(
        self, outputs: Collection[str], training: bool = True
    ) -> tuple[list[Node], list[str]]:
        """The nodes, in order, and the inputs that these outputs need; without `training`, nodes in evaluation mode."""
        self._check_requested(outputs)
        used = set(outputs)
        nodes = []
        for node in reversed(self.ordered()):
            if not used.isdisjoint(node.outputs):
                used |= node.values
                nodes.append(node if training else in_evaluation(node))
        nodes.reverse()
        inputs = [name for name in self.inputs if name in used]
        return nodes, inputs

    def computable(self, available: Collection[str]) -> list[str]:
        """The outputs that can be computed from these inputs: without labels, all but the loss."""
        ready = {*available, *self.params}
        for node in self.ordered():
            if node.values <= ready:
                ready.update(node.outputs)
        outputs = [name for name in self.outputs if name in ready]
        if not outputs:
            required = ", ".join(self.inputs)
            passed = ", ".join(available) or "none"
            raise Deep500Error(
                f"the network {self.name!r} needs {required}, and these came: {passed}"
            )
        return outputs

    def check_complete(self) -> None:
        """Raise a Deep500Error if a value is computed by nothing, or if a node lacks a required input."""
        for node in self.ordered():
            _check_required_inputs(node)
        self._check_requested((*self.outputs, *self.state_updates.values()))

    # ---- shapes

    @property
    def dimensions(self) -> list[str]:
        """The names of the dimensions whose sizes are set by each call."""
        return shape_inference.dimension_names(self.inputs.values())

    def specs(self, sizes: Sizes | None = None) -> Specs:
        """Shape and dtype of every value, as far as they can be inferred without running.

        With `sizes` of the named dimensions (1 for one that is left out) all shapes are numbers.
        """
        from ..graph.specializing import inferred  # which imports this module

        # some nodes may lack an input while the network is edited
        nodes = self._graph.ordered()
        if sizes is None:
            return shape_inference.named(self.inputs, partial(inferred, self, nodes))
        return inferred(self, nodes, self._sized_inputs(sizes))

    def _sized_inputs(self, sizes: Sizes) -> Specs:
        """The inputs with these sizes of the named dimensions."""
        inputs = {}
        for name, tensor in self.inputs.items():
            inputs[name] = shape_inference.sized(tensor, sizes)
        return inputs

    def bind(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        names: Iterable[str] | None = None,
    ) -> dict[str, int]:
        """The sizes of named dimensions from the shapes of these inputs (default: all).

        Raises a Deep500Error if a shape is missing or does not fit.
        """
        inputs = self.inputs
        if names is not None:
            inputs = {name: self.inputs[name] for name in names}
        return shape_inference.bind(inputs, shapes)

    def check_shapes(
        self, names: Iterable[str], shapes: Mapping[str, tuple[int, ...]]
    ) -> None:
        """Raise a Deep500Error if the shape of one of these inputs is missing or does not fit."""
        self.bind(shapes, names)

    # ---- parameters

    def feed_tensor(self, name: str, value: Any) -> None:
        """Replace a parameter."""
        if name not in self.params:
            raise self._no_parameter(name)
        old = self.params[name]
        array = np.asarray(host_array(name, value), old.dtype)
        if array.shape != old.shape:
            raise Deep500Error(
                f"the parameter {name!r} has the shape {old.shape}, not {array.shape}"
            )
        self.params[name] = array

    def fetch_tensors(self, names: Iterable[str]) -> list[np.ndarray]:
        names = list(names)
        for name in names:
            if name not in self.params:
                raise self._no_parameter(name)
        return [self.params[name] for name in names]

    def _no_parameter(self, name: str) -> Deep500Error:
        names = listed(self.params)
        return Deep500Error(f"no parameter is named {name!r}; there are: {names}")

    def freeze(self, pattern: str = "*") -> list[str]:
        """Stop training the parameters whose name matches (`conv1.*`); returns their names."""
        frozen = set(self._matching(pattern))
        self.trainable = [name for name in self.trainable if name not in frozen]
        return [name for name in self.params if name in frozen]

    def unfreeze(self, pattern: str = "*") -> list[str]:
        """Train the parameters whose name matches, except integers and running statistics; returns their names."""
        trained = {*self.trainable}
        for name in self._matching(pattern):
            dtype = self.params[name].dtype
            is_float = np.issubdtype(dtype, np.floating) or dtype.name == "bfloat16"
            if is_float and name not in self.state_updates:
                trained.add(name)
        self.trainable = [name for name in self.params if name in trained]
        return [name for name in self.trainable if fnmatch.fnmatchcase(name, pattern)]

    def _matching(self, pattern: str) -> list[str]:
        names = fnmatch.filter(self.params, pattern)
        if not names:
            every_name = listed(self.params)
            raise Deep500Error(
                f"no parameter matches {pattern!r}; there are: {every_name}"
            )
        return names

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Set parameters by name from arrays or tensors; with `strict`, these must be all parameters and no others."""
        arrays = matching_weights(self.params, state, strict)
        for name, array in arrays.items():
            self.feed_tensor(name, array)

    def load_weights(self, path: "str | os.PathLike[str]", strict: bool = True) -> None:
        """Set parameters by name from a safetensors file."""
        self.load_state_dict(read_weights(path), strict)

    def save_weights(self, path: "str | os.PathLike[str]") -> None:
        """Write all parameters to a safetensors file."""
        write_weights(path, self.params)

    # ---- files

    @classmethod
    def from_onnx(cls, source: Any) -> "Network":
        """Read a network from an ONNX file (its path or its bytes) or from an onnx.ModelProto."""
        return _onnx().read(source)

    def to_onnx(self, path: "str | os.PathLike[str] | None" = None) -> Any:
        """The network as an onnx.ModelProto, which is also written to `path` if one is given."""
        return _onnx().write(self, path)

    @classmethod
    def load(cls, path: "str | os.PathLike[str]") -> "Network":
        """Read a network from an ONNX file."""
        return cls.from_onnx(path)

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write the network with its current parameters to an ONNX file."""
        self.to_onnx(path)

    # ---- other networks

    def subnetwork(
        self,
        inputs: Iterable[str] | Mapping[str, Sequence[int | str]] = (),
        outputs: Iterable[str] = (),
    ) -> "Network":
        """The part that computes `outputs` from `inputs`, which may be any values of this network: it is cut there.

        Inputs of this network that the part needs stay inputs; the default for `outputs` are this network's own.
        Arrays are shared. A mapping gives the shapes of the cut values, which are inferred otherwise. Raises
        `Deep500Error` if the outputs do not depend on one of the cut values.
        """
        shapes = dict(inputs) if isinstance(inputs, Mapping) else {}
        cut_values = [*inputs]
        results = [*outputs] or [*self.outputs]
        for name in (*cut_values, *results):
            self._check_exists(name)
        part = Network(self.name)
        cutting.fill(part, self, cut_values, results, shapes)
        return part

    def backward_network(
        self, y: str = "loss", batch: int | None = None, training: bool = True
    ) -> "Network":
        """A network of ONNX operators that computes the outputs and the gradients of y, so that any engine can train.

        Its inputs are the network's, the parameters and the keys of random nodes; gradients have the names that
        `gradient` gives. It takes any size of the named dimensions, or only `batch` if that is given. Raises
        `Unsupported` without `batch` if the nodes of the backward pass depend on the sizes.
        """
        self._check_exists(y)
        from ..graph.specializing import (
            specialized,  # which imports this module
        )

        sizes: dict[str, int] | None = None
        if batch is None:
            twin = self.copy()
        else:
            sizes = dict.fromkeys(self.dimensions, batch)
            twin = specialized(self, self._sized_inputs(sizes))
        take_keys(twin)
        return _onnx().backward(twin, y, sizes, training)

    def warn_before_training(self) -> None:
        """Warn about nodes that would train with fixed running statistics, which is rarely intended."""
        frozen = []
        for node in self.nodes:
            if node.operator.settings.get("training_mode") == 0:
                frozen.append(node.name)
        if frozen:
            first = ", ".join(frozen[:3])
            warnings.warn(
                f"{first} ({len(frozen)} in all) will be trained with fixed running "
                "statistics, as exporters write them; set training_mode=1 to use those of the batch",
                stacklevel=3,
            )

    def layout(self) -> Layout:
        """The position of each trained parameter in flat buffers."""
        specs = {name: spec_of(self.params[name]) for name in self.trainable}
        return Layout.of(specs)

    def outline(self) -> "Network":
        """The same structure with the shapes and dtypes of the parameters instead of their arrays."""
        twin = self._twin()
        twin.params = {name: spec_of(p) for name, p in self.params.items()}  # type: ignore[misc]
        return twin

    def copy(self) -> "Network":
        """The same structure with copies of the arrays."""
        twin = self._twin()
        twin.params = {name: value.copy() for name, value in self.params.items()}
        return twin

    def _twin(self) -> "Network":
        twin = Network(self.name)
        twin.nodes = self.nodes
        twin.inputs = dict(self.inputs)
        twin.outputs = list(self.outputs)
        twin.trainable = list(self.trainable)
        twin.state_updates = dict(self.state_updates)
        twin.remarks = list(self.remarks)
        return twin

    # ---- names

    def _has(self, name: str) -> bool:
        return (
            name in self.inputs or name in self.params or name in self._graph.producers
        )

    def _check_exists(self, name: str) -> None:
        if not self._has(name):
            values = sorted({*self.inputs, *self.params, *self._graph.producers})
            raise Deep500Error(
                f"no value is named {name!r}; there are: {listed(values)}"
            )

    def _check_input_exists(self, operator: Operator, name: str) -> None:
        """Raise a Deep500Error that says how to make a constant if a new node takes a value that is not there."""
        if self._has(name):
            return
        owner = type(operator).__name__
        values = sorted({*self.inputs, *self.params, *self._graph.producers})
        raise Deep500Error(
            f"no value is named {name!r}; there are: {listed(values)}; if the {owner} takes a constant, add it first: "
            f"`add_param({name!r}, array, trainable=False)`"
        )

    def _check_requested(self, names: Iterable[str]) -> None:
        for name in names:
            if not self._has(name):
                raise Deep500Error(
                    f"the network is asked for {name!r}, which nothing makes"
                )

    def _check_free(self, name: str) -> None:
        if self._has(name):
            raise Deep500Error(
                f"the name {name!r} is taken: every value of a network has its own"
            )

    def _free_name(self, stem: str) -> str:
        return self._graph.free_name(stem, self._has)


def _check_required_inputs(node: Node) -> None:
    """Raise a Deep500Error if an input without a default is not connected."""
    for place, (name, parameter) in enumerate(node.operator.inputs.items()):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            continue
        required = parameter.default is inspect.Parameter.empty
        connected = place < len(node.inputs) and node.inputs[place] is not None
        if required and not connected:
            raise Deep500Error(f"node {node.name!r} lacks its input {name!r}")


def _operator(
    operator: Operator | Adapted | str, attributes: Mapping[str, Any]
) -> Operator:
    if isinstance(operator, Adapted):
        return operator.operator
    if isinstance(operator, Operator):
        return operator
    if not isinstance(operator, str):
        raise Deep500Error(
            f"{shown(operator)} is no operator: give its name, or an instance such as d5.operators.Softmax(axis=1)"
        )
    operator_class = cast(type[Operator], registry.find("operators", operator))
    known = [field.name for field in fields(operator_class)]
    for name in attributes:
        if name not in known:
            raise unknown(f"attribute of {operator}", name, known)
    return operator_class(**attributes)


def _onnx() -> Format:
    onnx_format = registry.find("formats", "Onnx")
    return cast(Format, onnx_format())
