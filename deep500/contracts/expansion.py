"""Operators that hold graphs: written out as nodes when a run has brought what decides on them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import Node, Subgraph
from .operator import Operator, Tensor


class Writer(ABC):
    """Takes the nodes that an operator is written out as, and tells what is known of values."""

    derivative: bool  # whether gradients will be asked for

    @abstractmethod
    def value(self, name: str) -> np.ndarray | None:
        """What a value is; None if an input that it needs did not come."""

    @abstractmethod
    def tensor(self, name: str) -> Tensor | None:
        """Shape and dtype of a value, likewise."""

    @abstractmethod
    def inferred(self, names: Sequence[Any]) -> list[Tensor | None]:
        """Shapes and dtypes of values as far as they follow from those of the inputs."""

    @abstractmethod
    def emit(
        self,
        operator: str,
        inputs: Sequence[Any],
        stem: str,
        count: int = 1,
        **attributes: Any,
    ) -> list[str]:
        """A new node with so many results, which get names that begin with `stem`."""

    @abstractmethod
    def copy(self, graph: Subgraph, arguments: Sequence[Any], prefix: str) -> list[str]:
        """The nodes of a graph, for these inputs; returns what its outputs are called."""


class Expandable(Operator):
    """An operator that can be written out as nodes."""

    @abstractmethod
    def stands(self, derivative: bool) -> bool:
        """Whether it runs (and has a derivative) as it is, as far as its graphs tell."""

    @abstractmethod
    def keeps_shapes(self, *inputs: Tensor) -> bool:
        """Whether that holds for inputs of these shapes too."""

    @abstractmethod
    def expand(self, writer: Writer, node: Node) -> list[str] | None:
        """The names of what stands for its outputs; None if an input that decides did not come."""

    def expands(self, writer: Writer, node: Node) -> bool:
        """Whether this node has to be written out."""
        if not self.stands(writer.derivative):
            return True
        tensors = writer.inferred(node.inputs)
        known = [tensor for tensor in tensors if tensor is not None]
        if len(known) < len([name for name in node.inputs if name is not None]):
            return False  # some shapes are not known: it has to do as it is
        return not self.keeps_shapes(*tensors)  # type: ignore[arg-type]


def stands(graph: Subgraph, derivative: bool) -> bool:
    """Whether the nodes of a graph run as they are."""
    for node in graph.nodes:
        operator = node.operator
        if node.deciding or (
            isinstance(operator, Expandable) and not operator.stands(derivative)
        ):
            return False
    return True
