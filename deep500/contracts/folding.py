"""Values that are known before a network runs: what exporters compute from shapes and constants."""

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from .. import registry
from ..errors import Deep500Error, one_line
from .network import Network, Node
from .operator import Operator, Tensor
from .shape_inference import Mismatch, dimension_names, node_specs

Evaluate = Callable[
    [Operator, Sequence[Any]], Sequence[np.ndarray]
]  # an operator on NumPy inputs
LARGEST = 1 << 16  # elements; a static input is small, and a file may come from anyone
OF_SHAPES = {"Shape", "Size"}  # operators that look only at the shape of their input


def on_host(operator: Operator, inputs: Sequence[Any]) -> list[np.ndarray]:
    """An operator on NumPy arrays, by the reference framework."""
    return cast(Any, registry.find("frameworks", "Host")()).evaluate(operator, inputs)


class Folding:
    """Computes a value from constants and `given` inputs when asked for it, and remembers which nodes it needed."""

    def __init__(
        self,
        inputs: Mapping[str, Tensor],
        constants: Mapping[str, np.ndarray],
        given: Mapping[str, np.ndarray],
        evaluate: Evaluate,
    ):
        self.evaluate = evaluate
        self.values = {**given, **constants}
        self.tensors = {
            name: tensor
            for name, tensor in inputs.items()
            if not dimension_names([tensor])
        }
        self.tensors |= {
            name: Tensor(v.shape, v.dtype.name) for name, v in self.values.items()
        }
        self.makers: dict[str, Node] = {}
        self.order: dict[str, int] = {}  # of the nodes, by name
        self.folded: set[str] = set()

    def add(self, node: Node) -> None:
        """A node of the network; nodes come in order."""
        self.makers |= dict.fromkeys(node.outputs, node)
        self.order[node.name] = len(self.order)
        with contextlib.suppress(
            Mismatch
        ):  # which is for whoever runs the node to report
            results = node_specs(node, self.tensors)
            if results is not None:
                self.tensors |= zip(node.outputs, results, strict=False)

    def value(self, name: str) -> np.ndarray | None:
        """The value of that name, or None if it depends on what is not known."""
        needed: dict[str, Node] = {}
        todo = [name]
        while todo:
            wanted = todo.pop()
            if wanted in needed or self.has(wanted):
                continue
            if wanted not in self.makers or not self.affords(self.makers[wanted]):
                return None
            node = self.makers[wanted]
            needed |= dict.fromkeys(node.outputs, node)
            if not self._needs_shape_only(node):
                todo += [i for i in node.inputs if isinstance(i, str)]
        nodes = {node.name: node for node in needed.values()}
        for node in sorted(nodes.values(), key=lambda n: self.order[n.name]):
            self._run(node)
        return self.values[name]

    def has(self, name: str) -> bool:
        """Whether a value is there without computing."""
        return name in self.values

    def affords(self, node: Node) -> bool:
        """Whether a node may be computed: its results must be small."""
        if type(node.operator).__name__ in OF_SHAPES:
            return node.inputs[0] in self.tensors
        if not all(output in self.tensors for output in node.outputs):
            return False
        return all(
            math.prod(self.tensors[output].shape) <= LARGEST for output in node.outputs
        )

    def without_folded(self, network: Network, nodes: Sequence[Node]) -> list[Node]:
        """The network's nodes without those that only served to compute what has been folded."""
        used, kept = set(network.outputs) | set(network.state_updates.values()), []
        for node in reversed(nodes):
            if node.name not in self.folded or not used.isdisjoint(node.outputs):
                used.update(i for i in node.inputs if isinstance(i, str))
                kept.append(node)
        return kept[::-1]

    def _needs_shape_only(self, node: Node) -> bool:
        return (
            type(node.operator).__name__ in OF_SHAPES and node.inputs[0] in self.tensors
        )

    def _run(self, node: Node) -> None:
        if node.outputs[0] in self.values:
            return
        inputs = [
            self._input(node, i) if isinstance(i, str) else i for i in node.inputs
        ]
        try:
            results = self.evaluate(node.operator, inputs)
        except Exception as error:
            raise Deep500Error(
                f"node {node.name!r} cannot be computed from its constants: {one_line(error, 300)}"
            ) from None
        self.values |= zip(node.outputs, map(np.asarray, results), strict=False)
        self.folded.add(node.name)

    def _input(self, node: Node, name: str) -> np.ndarray:
        if self._needs_shape_only(node) and name not in self.values:
            tensor = self.tensors[name]
            return np.broadcast_to(
                np.zeros((), tensor.dtype), tensor.shape
            )  # takes no memory
        return self.values[name]
