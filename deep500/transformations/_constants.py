"""The values of a network that every run has alike."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np

from ..contracts.network import Network, Node
from ..contracts.operator import Tensor
from ..contracts.transformation import LARGEST_CONSTANT
from ..errors import Deep500Error
from ..frameworks import evaluate

Shape = tuple[int | str, ...]


class Constants:
    """Parameters that nothing trains or updates, and what nodes compute from them and from known shapes.

    A parameter counts if its array is there: an executor knows some by their shapes only.
    """

    def __init__(
        self, network: Network, nodes: Iterable[Node], specs: Mapping[str, Tensor]
    ):
        self.specs = specs
        self._shapes: dict[
            str, Shape
        ] = {}  # what Shape nodes make, with names among the sizes
        changing = {*network.trainable, *network.state_updates}
        self._arrays: dict[str, np.ndarray] = {}
        for name, value in network.params.items():
            is_known = isinstance(value, np.ndarray) and value.size <= LARGEST_CONSTANT
            if is_known and name not in changing:
                self._arrays[name] = value
        for node in nodes:
            self._add(node)

    def get(self, value: Any) -> np.ndarray | None:
        """The value of that name; None if it is not constant."""
        return self._arrays.get(value) if isinstance(value, str) else None

    def _add(self, node: Node) -> None:
        kind = type(node.operator).__name__
        first = node.inputs[0] if node.inputs else None
        if kind == "Shape" and first in self.specs:
            self._add_shape(node)
        elif kind in ("Gather", "Slice") and first in self._shapes:
            self._add_sizes(node, self._shapes[first])
        elif (
            kind == "CastLike"
            and first in self._arrays
            and node.inputs[1] in self.specs
        ):
            like = self.specs[cast(str, node.inputs[1])]
            self._compute(node, [self._arrays[first], np.zeros((), like.dtype)])
        elif self._is_computable(node):
            self._compute(node, [self._input(i) for i in node.inputs])

    def _add_shape(self, node: Node) -> None:
        window = slice(node.operator.settings["start"], node.operator.settings["end"])
        sizes = self.specs[cast(str, node.inputs[0])].shape[window]
        self._shapes[node.outputs[0]] = sizes
        if all(isinstance(size, int) for size in sizes):
            self._arrays[node.outputs[0]] = np.array(sizes, np.int64)

    def _add_sizes(self, node: Node, sizes: Shape) -> None:
        """Some sizes of a shape, if all of them are known. The places of these are computed in the place of sizes."""
        rest = [self._input(i) for i in node.inputs[1:]]
        if any(
            x is None and i is not None
            for x, i in zip(rest, node.inputs[1:], strict=True)
        ):
            return
        places = self._results(node, [np.arange(len(sizes)), *rest])
        if not places:
            return
        chosen = [sizes[place] for place in places[0].reshape(-1)]
        if all(isinstance(size, int) for size in chosen):
            array = np.array(chosen, np.int64)
            self._arrays[node.outputs[0]] = array.reshape(places[0].shape)

    def _is_computable(self, node: Node) -> bool:
        if node.operator.random or node.operator.data_dependent:
            return False
        if any(isinstance(i, str) and i not in self._arrays for i in node.inputs):
            return False
        made = [self.specs.get(output) for output in node.outputs]
        return all(spec is not None and _is_small(spec) for spec in made)

    def _compute(self, node: Node, inputs: list[Any]) -> None:
        self._arrays |= zip(node.outputs, self._results(node, inputs), strict=False)

    def _results(self, node: Node, inputs: list[Any]) -> list[np.ndarray]:
        try:
            return evaluate(node.operator, inputs)
        except Deep500Error:  # whoever runs the network will say so
            return []

    def _input(self, value: Any) -> Any:
        return self._arrays.get(value) if isinstance(value, str) else value


def _is_small(spec: Tensor) -> bool:
    return (
        all(isinstance(size, int) for size in spec.shape)
        and spec.size <= LARGEST_CONSTANT
    )
