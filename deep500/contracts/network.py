"""The network contract: a framework-independent, editable graph of operators."""

import fnmatch
import inspect
import os
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from .. import registry
from ..canonical import shown
from ..errors import Deep500Error
from . import cutting, random_key, shape_inference
from .format import Format
from .graph import Graph, Node, Subgraph, in_evaluation
from .inputs import static_input
from .layout import Layout
from .operator import Adapted, Operator, Tensor
from .shape_inference import Sizes, Specs, spec_of
from .shape_tracking import ShapeTracker
from .weights import host_array, listed, matching_weights, read_weights, write_weights

__all__ = ["KEY", "Network", "Node", "Subgraph", "in_evaluation", "take_keys"]

KEY = "deep500:key:"  # what begins the name of an input that a random node draws by


def take_keys(network: "Network") -> dict[str, Operator]:
    """Make the key of every random node an input of the network; returns the operators by the names of these inputs."""
    keys = {}
    for node in network.nodes:
        if node.operator.random:
            name = network.add_input(f"{KEY}{node.name}", (random_key.WORDS,), "int64")
            inputs = tuple(node.operator.keyed(node.inputs, name))
            network.replace_node(node.name, replace(node, inputs=inputs))
            keys[name] = node.operator
    return keys


class Network:
    """Nodes, the inputs they start from, the parameters they own and the outputs that are asked for.

    A parameter is a NumPy array; one named in `trainable` gets gradients, the others are state (running statistics).
    `state_updates` says which output replaces which parameter after a training step. Dimensions of inputs may have
    names, such as ("batch", 3, "height", "width"): one name is one size in every call.
    """

    def __init__(self, name: str = "network"):
        self.name = name
        self.inputs: dict[str, Tensor] = {}
        self.outputs: list[str] = []
        self.params: dict[str, np.ndarray] = {}
        self.trainable: list[str] = []
        self.state_updates: dict[str, str] = {}
        self.remarks: list[str] = []  # what its file has lost, for whoever trains it
        self._graph = Graph()
        self._shapes = ShapeTracker(self)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes in the order in which they came."""
        return tuple(self._graph.nodes.values())

    @nodes.setter
    def nodes(self, nodes: Iterable[Node]) -> None:
        """All nodes anew; they are not checked before the network runs."""
        self._graph = Graph(nodes)
        self._shapes = ShapeTracker(self)

    # ---- building

    def add_input(
        self, name: str, shape: Sequence[int | str], dtype: str = "float32"
    ) -> str:
        """A value that every call brings. A dimension is a size or a name; 0 as the first one is the batch."""
        self._new(name)
        self.inputs[name] = Tensor(shape_inference.checked_shape(name, shape), dtype)
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
        operator = _operator(operator, attributes)
        values = tuple(self._input(operator, i, inputs) for i in range(len(inputs)))
        if name in self._graph.nodes:
            raise Deep500Error(
                f"the name {name!r} is taken: every node of a network has its own"
            )
        name = name or self._free(type(operator).__name__)
        first = f"{name}.{operator.result_names(1)[0]}"
        results = tuple(outputs or [self._free(first)])
        for value in results:
            self._new(value)
        self._append(Node(name, operator, values, results))
        return results[0]

    def _append(self, node: Node) -> None:
        self._graph.append(node)
        try:
            self._shapes.follow(node)
        except Deep500Error:
            self._graph.remove(node.name)
            raise

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

    # ---- editing

    def remove_node(self, name: str) -> Node:
        """Take a node out; what used its outputs must be rewired before the network runs again."""
        node = self._graph.remove(self.node(name).name)
        self._shapes.forget(node)
        return node

    def replace_node(
        self, name: str, replacement: Node | Operator | Adapted | str, **attributes: Any
    ) -> Node:
        """Put another operator (or a node of the same outputs) in the place of a node; returns the old one."""
        old = self.node(name)
        if isinstance(replacement, Node):
            new = replace(replacement, name=name)
        else:
            new = replace(old, operator=_operator(replacement, attributes))
        if new.outputs != old.outputs:
            raise Deep500Error(
                f"node {name!r} makes {', '.join(old.outputs)}: what replaces it makes the same, not "
                f"{', '.join(new.outputs)}"
            )
        self._replace(old, new)
        return old

    def add_edge(self, value: str, node: str, position: int) -> None:
        """Feed a value to an input of a node, in the place of whatever it had."""
        self._known(value)
        self._connect(self.node(node), position, value)

    def remove_edge(self, node: str, position: int) -> None:
        """Leave an input of a node open; only an optional one may stay so."""
        self._connect(self.node(node), position, None)

    def rewire(self, old: str, new: str) -> None:
        """Feed `new` to every node that takes `old`; the network's outputs keep their names."""
        self._known(new)
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
        inputs = [*node.inputs, *[None] * (position + 1 - len(node.inputs))]
        inputs[position] = value
        self._replace(node, replace(node, inputs=tuple(inputs)))

    def _replace(self, old: Node, new: Node) -> None:
        """Exchange a node, or leave the network as it is if that would not fit."""
        for value in new.values - old.values:
            self._known(value)
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
            raise Deep500Error(
                f"no node is named {name!r}; there are: {listed(self._graph.nodes)}"
            ) from None

    def producer(self, value: str) -> Node | None:
        """The node that makes a value; None for an input or a parameter."""
        name = self._graph.producers.get(value)
        return None if name is None else self._graph.nodes[name]

    def consumers(self, value: str) -> list[Node]:
        """The nodes that take a value."""
        return self._graph.consumers(value)

    def get_input_nodes(self) -> list[str]:
        """The names of the inputs."""
        return list(self.inputs)

    def get_output_nodes(self) -> list[str]:
        """The names of the outputs."""
        return list(self.outputs)

    def get_params(self) -> list[str]:
        """The names of what is trained."""
        return list(self.trainable)

    def gradient(self, y: str = "loss") -> list[tuple[str, str]]:
        """(parameter, name of its gradient by y) for everything that is trained."""
        self._known(y)
        return [(name, f"{name}.grad") for name in self.trainable]

    def ordered(self) -> list[Node]:
        """The nodes in an order in which every value is made before it is used."""
        self._graph.check_closed({*self.inputs, *self.params})
        return self._graph.ordered()

    def part(
        self, outputs: Collection[str], training: bool = True
    ) -> tuple[list[Node], list[str]]:
        """The nodes, in order, and the inputs that these outputs need; without training, as they are in evaluation."""
        used = set(outputs)
        for name in used:
            if not self._has(name):
                raise Deep500Error(
                    f"the network is asked for {name!r}, which nothing makes"
                )
        nodes = []
        for node in reversed(self.ordered()):
            if not used.isdisjoint(node.outputs):
                used |= node.values
                nodes.append(node if training else in_evaluation(node))
        return nodes[::-1], [name for name in self.inputs if name in used]

    def computable(self, available: Collection[str]) -> list[str]:
        """The outputs that these inputs suffice for: without labels, all but the loss."""
        ready = {*available, *self.params}
        for node in self.ordered():
            if node.values <= ready:
                ready.update(node.outputs)
        outputs = [name for name in self.outputs if name in ready]
        if not outputs:
            raise Deep500Error(
                f"the network {self.name!r} needs {', '.join(self.inputs)}, and these came: "
                f"{', '.join(available) or 'none'}"
            )
        return outputs

    def check_complete(self) -> None:
        """Refuse open ends: a value that nothing makes, an input that a node cannot do without."""
        for node in self.ordered():
            for place, (name, parameter) in enumerate(node.operator.inputs.items()):
                needed = parameter.default is inspect.Parameter.empty
                variadic = parameter.kind is inspect.Parameter.VAR_POSITIONAL
                open_end = place >= len(node.inputs) or node.inputs[place] is None
                if needed and open_end and not variadic:
                    raise Deep500Error(f"node {node.name!r} lacks its input {name!r}")
        for name in (*self.outputs, *self.state_updates.values()):
            if not self._has(name):
                raise Deep500Error(
                    f"the network is asked for {name!r}, which nothing makes"
                )

    # ---- shapes

    @property
    def dimensions(self) -> list[str]:
        """The names of the dimensions that a call decides on."""
        return shape_inference.dimension_names(self.inputs.values())

    def specs(self, sizes: Sizes | None = None) -> Specs:
        """Shape and dtype of every value, as far as they can be told without running.

        With `sizes` of the named dimensions (1 for one that is left out) all shapes are numbers.
        """
        from .specialising import inferred  # which is about networks

        nodes = (
            self._graph.ordered()
        )  # some may lack an input, while the network is edited
        if sizes is None:
            return shape_inference.named(self.inputs, partial(inferred, self, nodes))
        inputs = {
            name: shape_inference.sized(t, sizes) for name, t in self.inputs.items()
        }
        return inferred(self, nodes, inputs)

    def bind(
        self, shapes: Mapping[str, tuple[int, ...]], names: Iterable[str] | None = None
    ) -> dict[str, int]:
        """The sizes of named dimensions, from shapes of these inputs (all by default), which are checked."""
        wanted = (
            self.inputs
            if names is None
            else {name: self.inputs[name] for name in names}
        )
        return shape_inference.bind(wanted, shapes)

    def check_shapes(
        self, names: Iterable[str], shapes: Mapping[str, tuple[int, ...]]
    ) -> None:
        """Refuse shapes of inputs that are missing or wrong."""
        self.bind(shapes, names)

    # ---- parameters

    def feed_tensor(self, name: str, value: Any) -> None:
        """Replace a parameter."""
        if name not in self.params:
            raise Deep500Error(
                f"no parameter is named {name!r}; there are: {listed(self.params)}"
            )
        old = self.params[name]
        array = np.asarray(host_array(name, value), old.dtype)
        if array.shape != old.shape:
            raise Deep500Error(
                f"the parameter {name!r} has the shape {old.shape}, not {array.shape}"
            )
        self.params[name] = array

    def fetch_tensors(self, names: Iterable[str]) -> list[np.ndarray]:
        names = list(names)
        if missing := [n for n in names if n not in self.params]:
            raise Deep500Error(
                f"no parameter is named {missing[0]!r}; there are: {listed(self.params)}"
            )
        return [self.params[n] for n in names]

    def freeze(self, pattern: str = "*") -> list[str]:
        """Train no parameter whose name matches (`conv1.*`) any more; returns their names."""
        frozen = set(self._matching(pattern))
        self.trainable = [name for name in self.trainable if name not in frozen]
        return [name for name in self.params if name in frozen]

    def unfreeze(self, pattern: str = "*") -> list[str]:
        """Train every parameter whose name matches: those of floats that are no running statistics."""
        trained = {*self.trainable}
        for name in self._matching(pattern):
            is_float = np.issubdtype(self.params[name].dtype, np.floating)
            if (is_float or self.params[name].dtype.name == "bfloat16") and (
                name not in self.state_updates
            ):
                trained.add(name)
        self.trainable = [name for name in self.params if name in trained]
        return [name for name in self.trainable if fnmatch.fnmatchcase(name, pattern)]

    def _matching(self, pattern: str) -> list[str]:
        names = fnmatch.filter(self.params, pattern)
        if not names:
            raise Deep500Error(
                f"no parameter matches {pattern!r}; there are: {listed(self.params)}"
            )
        return names

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Set parameters by name from arrays or tensors; `strict` wants all of them and no others."""
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
        """The network as an onnx.ModelProto, written to `path` if there is one."""
        return _onnx().write(self, path)

    @classmethod
    def load(cls, path: "str | os.PathLike[str]") -> "Network":
        """Read a network from an ONNX file."""
        return cls.from_onnx(path)

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write the network, with its parameters as they are now, to an ONNX file."""
        self.to_onnx(path)

    # ---- other networks

    def subnetwork(
        self,
        inputs: Iterable[str] | Mapping[str, Sequence[int | str]] = (),
        outputs: Iterable[str] = (),
    ) -> "Network":
        """The part that makes `outputs` from `inputs`: any values of this network, where it is cut.

        What it needs besides of this network's own inputs stays an input; without `outputs`, those are this
        network's own as well. Arrays are shared. A mapping gives the shapes of the cut values, which are inferred
        otherwise. Raises `Deep500Error` if the outputs do not depend on a value where it is cut.
        """
        shapes = dict(inputs) if isinstance(inputs, Mapping) else {}
        cut_values, results = [*inputs], [*outputs] or [*self.outputs]
        for name in (*cut_values, *results):
            self._known(name)
        part = Network(self.name)
        cutting.fill(part, self, cut_values, results, shapes)
        return part

    def backward_network(
        self, y: str = "loss", batch: int | None = None, training: bool = True
    ) -> "Network":
        """A network that computes the outputs and the gradients of y, in operators of ONNX: any engine can train.

        Its inputs are the network's, the parameters and the keys of random nodes; gradients have the names that
        `gradient` gives. It takes any size of the named dimensions, or only `batch` if that is given. Raises
        `Unsupported` without `batch` if the backward pass has other nodes for other sizes.
        """
        self._known(y)
        from .specialising import specialised  # which is about networks

        sizes = None if batch is None else dict.fromkeys(self.dimensions, batch)
        twin = self.copy()
        if sizes is not None:
            inputs = {
                name: shape_inference.sized(t, sizes) for name, t in self.inputs.items()
            }
            twin = specialised(self, inputs)
        take_keys(twin)
        return _onnx().backward(twin, y, sizes, training)

    def warn_before_training(self) -> None:
        """Say what would train differently from what its user means."""
        if frozen := [
            n.name for n in self.nodes if n.operator.settings.get("training_mode") == 0
        ]:
            warnings.warn(
                f"{', '.join(frozen[:3])} ({len(frozen)} in all) will be trained with fixed running "
                "statistics, as exporters write them; set training_mode=1 to use those of the batch",
                stacklevel=3,
            )

    def layout(self) -> Layout:
        """Where each trained parameter lies in flat buffers."""
        return Layout.of({name: spec_of(self.params[name]) for name in self.trainable})

    def outline(self) -> "Network":
        """The same structure with the shapes and dtypes of the parameters in the place of their arrays."""
        twin = self._twin()
        twin.params = {name: spec_of(p) for name, p in self.params.items()}  # type: ignore[misc]
        return twin

    def copy(self) -> "Network":
        """The same structure with its own arrays."""
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

    def _known(self, name: str) -> None:
        if not self._has(name):
            values = sorted({*self.inputs, *self.params, *self._graph.producers})
            raise Deep500Error(
                f"no value is named {name!r}; there are: {listed(values)}"
            )

    def _new(self, name: str) -> None:
        if self._has(name):
            raise Deep500Error(
                f"the name {name!r} is taken: every value of a network has its own"
            )

    def _free(self, stem: str) -> str:
        return self._graph.free_name(stem, self._has)


def _operator(
    operator: Operator | Adapted | str, attributes: Mapping[str, Any]
) -> Operator:
    if isinstance(operator, Adapted):
        return operator.operator
    if isinstance(operator, Operator):
        return operator
    return cast(Operator, registry.find("operators", operator)(**attributes))


def _onnx() -> Format:
    return cast(Format, registry.find("formats", "Onnx")())
