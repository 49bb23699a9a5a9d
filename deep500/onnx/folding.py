"""Values that can be known while reading: what exporters compute from shapes and constants to feed static inputs."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..contracts.network import Network, Node
from ..contracts.operator import Operator, Tensor
from ..contracts.shape_inference import dimension_names
from ..errors import Deep500Error

Evaluate = Callable[[Operator, Sequence[Any]], Sequence[np.ndarray]]  # an operator on NumPy inputs
LARGEST = 1 << 16  # elements; a static input is small, and a file may come from anyone
OF_SHAPES = {"Shape", "Size"}  # operators that look only at the shape of their input


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
            name: t for name, t in inputs.items() if not dimension_names([t])
        }  # named dimensions are not known
        self.tensors |= {name: Tensor(v.shape, v.dtype.name) for name, v in self.values.items()}
        self.makers: dict[str, Node] = {}
        self.order: dict[str, int] = {}  # of the nodes, by name
        self.folded: set[str] = set()

    def add(self, node: Node) -> None:
        """A node of the network; nodes come in order."""
        self.makers |= dict.fromkeys(node.outputs, node)
        self.order[node.name] = len(self.order)
        if node.operator.data_dependent:
            return
        arguments = [self.tensors.get(i) if isinstance(i, str) else i for i in node.inputs]
        if all(a is not None or i is None for a, i in zip(arguments, node.inputs, strict=True)):
            try:
                self.tensors |= zip(node.outputs, node.operator.infer(*arguments), strict=False)
            except Exception:  # wrong shapes and the like are for whoever runs the node to report
                return

    def value(self, name: str) -> np.ndarray | None:
        """The value of that name, or None if it depends on what only a run brings."""
        needed: dict[str, Node] = {}
        todo = [name]
        while todo:
            if (wanted := todo.pop()) in self.values or wanted in needed:
                continue
            if wanted not in self.makers or not self._small(self.makers[wanted]):
                return None
            needed[wanted] = node = self.makers[wanted]
            if type(node.operator).__name__ not in OF_SHAPES:
                todo += [i for i in node.inputs if isinstance(i, str)]
        for node in sorted(
            {node.name: node for node in needed.values()}.values(), key=lambda n: self.order[n.name]
        ):
            self._run(node)
        return self.values[name]

    def without_folded(self, network: Network, nodes: Sequence[Node]) -> list[Node]:
        """The network's nodes without those that only served to compute what has been folded."""
        used, kept = set(network.outputs) | set(network.state_updates.values()), []
        for node in reversed(nodes):
            if node.name not in self.folded or not used.isdisjoint(node.outputs):
                used.update(i for i in node.inputs if isinstance(i, str))
                kept.append(node)
        return kept[::-1]

    def _small(self, node: Node) -> bool:
        if type(node.operator).__name__ in OF_SHAPES:
            return node.inputs[0] in self.tensors
        sizes = [
            math.prod(self.tensors[o].shape) if o in self.tensors else LARGEST + 1
            for o in node.outputs
        ]
        return max(sizes) <= LARGEST

    def _run(self, node: Node) -> None:
        if node.outputs[0] in self.values:
            return
        inputs = [self._input(node, i) if isinstance(i, str) else i for i in node.inputs]
        try:
            made = self.evaluate(node.operator, inputs)
        except Exception as error:
            raise Deep500Error(
                f"node {node.name!r} cannot be computed from its constants: {error}"
            ) from None
        self.values |= zip(node.outputs, map(np.asarray, made), strict=False)
        self.folded.add(node.name)

    def _input(self, node: Node, name: str) -> np.ndarray:
        if type(node.operator).__name__ in OF_SHAPES and name not in self.values:
            tensor = self.tensors[name]
            return np.broadcast_to(np.zeros((), tensor.dtype), tensor.shape)  # takes no memory
        return self.values[name]
