"""The values of a network that are the same in every run."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np

from ..contracts.network import Network, Node
from ..contracts.operator import TensorSpec
from ..contracts.transformation import LARGEST_CONSTANT
from ..errors import Deep500Error
from ..frameworks import evaluate

Shape = tuple[int | str, ...]


class Constants:
    """Parameters that nothing trains or updates, and the results that nodes compute from them and from known shapes.

    Only parameters that have an array count: an executor knows some by their shapes only.
    """

    def __init__(
        self,
        network: Network,
        nodes: Iterable[Node],
        specs: Mapping[str, TensorSpec],
    ):
        self.specs = specs
        # The results of Shape nodes, with names among the sizes.
        self._shapes: dict[str, Shape] = {}
        changing = {*network.trainable, *network.state_updates}
        self._arrays: dict[str, np.ndarray] = {}
        for name, value in network.params.items():
            is_known = isinstance(value, np.ndarray) and value.size <= LARGEST_CONSTANT
            if is_known and name not in changing:
                self._arrays[name] = value
        for node in nodes:
            self._add(node)

    def get(self, value: Any) -> np.ndarray | None:
        """The array of the value of that name; None if it is not constant."""
        if not isinstance(value, str):
            return None
        return self._arrays.get(value)

    def _add(self, node: Node) -> None:
        kind = type(node.operator).__name__
        first = node.inputs[0] if node.inputs else None
        if kind == "Shape" and first in self.specs:
            self._add_shape(node, self.specs[cast(str, first)])
        elif kind in ("Gather", "Slice") and first in self._shapes:
            self._add_sizes(node, self._shapes[first])
        elif kind == "CastLike" and self._is_cast(node):
            value, like = cast(tuple[str, str], node.inputs)
            zero = np.zeros((), self.specs[like].dtype)
            self._compute(node, [self._arrays[value], zero])
        elif self._is_computable(node):
            inputs = [self._input(value) for value in node.inputs]
            self._compute(node, inputs)

    def _is_cast(self, node: Node) -> bool:
        """Whether a CastLike converts a constant to a known dtype."""
        value, like = node.inputs
        return value in self._arrays and like in self.specs

    def _add_shape(self, node: Node, spec: TensorSpec) -> None:
        start = node.operator.settings["start"]
        end = node.operator.settings["end"]
        sizes = spec.shape[start:end]
        output = node.outputs[0]
        self._shapes[output] = sizes
        if _are_known(sizes):
            self._arrays[output] = np.array(sizes, np.int64)

    def _add_sizes(self, node: Node, sizes: Shape) -> None:
        """Add sizes that a node selects from a shape, if they are known: the node is run on the indices of sizes."""
        selection = []
        for value in node.inputs[1:]:
            constant = self._input(value)
            if constant is None and value is not None:
                return
            selection.append(constant)
        all_indices = np.arange(len(sizes))
        results = self._results(node, [all_indices, *selection])
        if not results:
            return
        indices = results[0]
        selected = [sizes[index] for index in indices.reshape(-1)]
        if _are_known(selected):
            array = np.array(selected, np.int64)
            output = node.outputs[0]
            self._arrays[output] = array.reshape(indices.shape)

    def _is_computable(self, node: Node) -> bool:
        if node.operator.random or node.operator.data_dependent:
            return False
        for value in node.inputs:
            if isinstance(value, str) and value not in self._arrays:
                return False
        for output in node.outputs:
            spec = self.specs.get(output)
            if spec is None or not _is_small(spec):
                return False
        return True

    def _compute(self, node: Node, inputs: list[Any]) -> None:
        results = self._results(node, inputs)
        self._arrays |= zip(node.outputs, results, strict=False)

    def _results(self, node: Node, inputs: list[Any]) -> list[np.ndarray]:
        try:
            return evaluate(node.operator, inputs)
        except Deep500Error:  # will be reported when the network is run
            return []

    def _input(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return self._arrays.get(value)


def _are_known(sizes: Iterable[int | str]) -> bool:
    return all(isinstance(size, int) for size in sizes)


def _is_small(spec: TensorSpec) -> bool:
    return _are_known(spec.shape) and spec.size <= LARGEST_CONSTANT
