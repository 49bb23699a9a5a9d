"""Constant folding: values that can be computed from shapes and constants before a network runs."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from .. import registry
from ..contracts.network import Network, Node
from ..contracts.operator import Operator, TensorSpec
from ..errors import Deep500Error, one_line
from .shape_inference import Mismatch, dimension_names, node_specs

# evaluates an operator on NumPy inputs
Evaluate = Callable[[Operator, Sequence[Any]], Sequence[np.ndarray]]
# elements; a static input is small, and a file may be malicious
LARGEST = 1 << 16
# operators that look only at the shape of their input
OF_SHAPES = {"Shape", "Size"}


def on_host(operator: Operator, inputs: Sequence[Any]) -> list[np.ndarray]:
    """Evaluate an operator on NumPy arrays, in the reference framework."""
    host = cast(Any, registry.find("frameworks", "Host"))
    return host().evaluate(operator, inputs)


class Folding:
    """Computes values from constants and inputs with known values on request; it records the nodes that it computed."""

    def __init__(
        self,
        inputs: Mapping[str, TensorSpec],
        constants: Mapping[str, np.ndarray],
        input_values: Mapping[str, np.ndarray],
        evaluate: Evaluate,
    ):
        self.evaluate = evaluate
        self.values = {**input_values, **constants}
        self.tensors: dict[str, TensorSpec] = {}
        for name, tensor in inputs.items():
            if not dimension_names([tensor]):
                self.tensors[name] = tensor
        for name, value in self.values.items():
            self.tensors[name] = TensorSpec(value.shape, value.dtype.name)
        self.makers: dict[str, Node] = {}
        self.order: dict[str, int] = {}  # of the nodes, by name
        self.folded: set[str] = set()

    def add(self, node: Node) -> None:
        """Add a node of the network; nodes must be added in order."""
        self.makers.update(dict.fromkeys(node.outputs, node))
        self.order[node.name] = len(self.order)
        with contextlib.suppress(Mismatch):  # running the node will report it
            results = node_specs(node, self.tensors)
            if results is not None:
                self.tensors.update(zip(node.outputs, results, strict=False))

    def value(self, name: str) -> np.ndarray | None:
        """The value of that name, or None if it depends on unknown values."""
        needed: dict[str, Node] = {}
        missing_values = [name]
        while missing_values:
            missing = missing_values.pop()
            if missing in needed or self.has(missing):
                continue
            node = self.makers.get(missing)
            if node is None or not self.affords(node):
                return None
            needed.update(dict.fromkeys(node.outputs, node))
            if not self._needs_shape_only(node):
                missing_values += [i for i in node.inputs if isinstance(i, str)]
        nodes = {node.name: node for node in needed.values()}
        for node_name in sorted(nodes, key=self.order.__getitem__):
            self._run(nodes[node_name])
        return self.values[name]

    def has(self, name: str) -> bool:
        """Whether a value is available without computing it."""
        return name in self.values

    def affords(self, node: Node) -> bool:
        """Whether a node may be computed: its results must be small."""
        if type(node.operator).__name__ in OF_SHAPES:
            return node.inputs[0] in self.tensors
        for output in node.outputs:
            tensor = self.tensors.get(output)
            if tensor is None or tensor.size > LARGEST:
                return False
        return True

    def without_folded(self, network: Network, nodes: Sequence[Node]) -> list[Node]:
        """The network's nodes without those that are no longer used after folding."""
        used = {*network.outputs, *network.state_updates.values()}
        remaining = []
        for node in reversed(nodes):
            is_used = not used.isdisjoint(node.outputs)
            if node.name not in self.folded or is_used:
                used |= node.values
                remaining.append(node)
        remaining.reverse()
        return remaining

    def _needs_shape_only(self, node: Node) -> bool:
        operator = type(node.operator).__name__
        return operator in OF_SHAPES and node.inputs[0] in self.tensors

    def _run(self, node: Node) -> None:
        if node.outputs[0] in self.values:
            return
        inputs = [
            self._input(node, i) if isinstance(i, str) else i for i in node.inputs
        ]
        try:
            results = self.evaluate(node.operator, inputs)
        except Exception as error:
            message = one_line(error, 300)
            raise Deep500Error(
                f"node {node.name!r} cannot be computed from its constants: {message}"
            ) from None
        arrays = map(np.asarray, results)
        self.values.update(zip(node.outputs, arrays, strict=False))
        self.folded.add(node.name)

    def _input(self, node: Node, name: str) -> np.ndarray:
        if self._needs_shape_only(node) and name not in self.values:
            tensor = self.tensors[name]
            zero = np.zeros((), tensor.dtype)
            return np.broadcast_to(zero, tensor.shape)  # takes no memory
        return self.values[name]
