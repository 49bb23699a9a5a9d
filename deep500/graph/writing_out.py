"""The nodes of a network for the values of one run, with constants as static inputs and subgraphs written out."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from .. import registry
from ..contracts.inputs import static_input
from ..contracts.operator import Operator, TensorSpec
from ..errors import Deep500Error, Unsupported
from .expansion import Expandable, NodeWriter
from .folding import Folding, on_host
from .graph import Node, Subgraph

MOST_NODES = 10_000  # that subgraphs may be written out to
LARGEST = 1 << 25  # elements of a value that is evaluated on the host


class WritingOut(Folding, NodeWriter):
    """Takes nodes in order. `sources` are the passed inputs and the parameters; `fetch` returns their values.

    `decisions` records everything that depends on values, `fetched` the sources whose values were used. Names in
    `reserved` are not given to new values.
    """

    def __init__(
        self,
        sources: Mapping[str, TensorSpec],
        fetch: Callable[[str], np.ndarray | None],
        derivative: bool,
        reserved: Collection[str] = (),
    ):
        super().__init__({}, {}, {}, on_host)
        self.tensors = dict(sources)
        self.derivative = derivative
        self.nodes: list[Node] = []
        self.decisions: list[Hashable] = []
        self.fetched: list[str] = []
        self._sources = {*sources}
        self._fetch = fetch
        self._reserved = reserved
        self._nodes_left = MOST_NODES

    def write(self, node: Node) -> None:
        """Append the node, or the nodes that it is written out as."""
        operator = node.operator
        if isinstance(operator, Expandable) and operator.expands(self, node):
            outputs = operator.expand(self, node)
            if outputs is not None:
                self._name_outputs(node, outputs)
                return
        self.append(self._with_constants(node))

    def tensor(self, name: str) -> TensorSpec | None:
        if name not in self.tensors:
            value = self.value(name)
            if value is not None:
                self.tensors[name] = TensorSpec(value.shape, value.dtype.name)
        return self.tensors.get(name)

    def inferred(self, names: Sequence[Any]) -> list[TensorSpec | None]:
        return [self.tensors.get(name) for name in names]

    def has(self, name: str) -> bool:
        value = None
        if name not in self.values and name in self._sources:
            value = self._fetch(name)
        if value is not None:
            self.values[name] = value
            self.fetched.append(name)
        return name in self.values

    def affords(self, node: Node) -> bool:
        for output in node.outputs:
            tensor = self.tensors.get(output)
            if tensor is not None and tensor.size > LARGEST:
                raise Unsupported(
                    f"node {node.name!r} decides on shapes, and what it makes has more than {LARGEST} elements"
                )
        return True

    def emit(
        self,
        operator: str,
        inputs: Sequence[Any],
        stem: str,
        count: int = 1,
        **attributes: Any,
    ) -> list[str]:
        operator_class = registry.find("operators", operator)
        definition = cast(Operator, operator_class(**attributes))
        stems = [stem]
        if count > 1:
            stems = [f"{stem}.{i}" for i in range(count)]
        outputs = [self._free_name(output_stem) for output_stem in stems]
        self._count_nodes(count, stem)
        self.decisions.append((stem, operator, tuple(inputs), count, repr(attributes)))
        node = Node(outputs[0], definition, tuple(inputs), tuple(outputs))
        self.write(node)
        return outputs

    def copy(self, graph: Subgraph, arguments: Sequence[Any], prefix: str) -> list[str]:
        self._count_nodes(1 + len(graph.nodes), prefix)
        self.decisions.append(prefix)
        names = dict(zip(graph.inputs, arguments, strict=True))
        for node in graph.nodes:
            name = f"{prefix}.{node.name}"
            inputs = [names[i] if isinstance(i, str) else i for i in node.inputs]
            outputs = [self._free_name(f"{prefix}.{output}") for output in node.outputs]
            self.write(Node(name, node.operator, tuple(inputs), tuple(outputs)))
            names.update(zip(node.outputs, outputs, strict=True))
        return [names[name] for name in graph.outputs]

    def _with_constants(self, node: Node) -> Node:
        """The node with constants for the static inputs that are values of the network."""
        inputs = list(node.inputs)
        parameters = node.operator.input_names(len(inputs))
        for place, name in node.deciding.items():
            value = self.value(name)
            # an input was not passed: no output needs this node
            if value is None:
                return node
            numbers = value.reshape(-1)
            try:
                constant = static_input(node.operator, parameters[place], numbers)
            except Deep500Error as error:
                raise Deep500Error(f"node {node.name!r}: {error}") from None
            inputs[place] = constant
            self.decisions.append((node.name, place, value.dtype.name, repr(constant)))
        return replace(node, inputs=tuple(inputs))

    def append(self, node: Node) -> None:
        """Append the node without writing it out."""
        self.nodes.append(node)
        self.add(node)

    def _name_outputs(self, node: Node, outputs: Sequence[str]) -> None:
        """Give the values that replace the node's outputs the names of these outputs."""
        for name, output in zip(node.outputs, outputs, strict=False):
            identity = registry.find("operators", "Identity")()
            self.append(Node(f"{node.name}.{name}", identity, (output,), (name,)))

    def _free_name(self, stem: str) -> str:
        name, count = stem, 0
        while name in self.makers or name in self._sources or name in self._reserved:
            count += 1
            name = f"{stem}_{count}"
        return name

    def _count_nodes(self, count: int, where: str) -> None:
        """Count written nodes; Unsupported if they are too many."""
        self._nodes_left -= count
        if self._nodes_left < 0:
            raise Unsupported(
                f"{where!r} would write out more than {MOST_NODES} nodes: let its loop run less often, or "
                "hand over what it computes as one operator"
            )
