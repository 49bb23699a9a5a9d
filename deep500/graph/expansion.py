"""Operators with subgraphs, which are written out as nodes when the values that they depend on are known."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contracts.operator import Operator, TensorSpec
from .graph import Node, Subgraph


class NodeWriter(ABC):
    """Takes the nodes that an operator is written out as, and returns what is known about values."""

    derivative: bool  # whether gradients will be computed

    @abstractmethod
    def value(self, name: str) -> np.ndarray | None:
        """A value as an array; None if an input that it depends on was not passed."""

    @abstractmethod
    def tensor(self, name: str) -> TensorSpec | None:
        """Shape and dtype of a value; None as for `value`."""

    @abstractmethod
    def inferred(self, names: Sequence[Any]) -> list[TensorSpec | None]:
        """Shapes and dtypes of values, or None, as far as they can be inferred from those of the inputs."""

    @abstractmethod
    def emit(
        self,
        operator: str,
        inputs: Sequence[Any],
        stem: str,
        count: int = 1,
        **attributes: Any,
    ) -> list[str]:
        """Write a new node with `count` results, whose names begin with `stem`; returns these names."""

    @abstractmethod
    def copy(self, graph: Subgraph, arguments: Sequence[Any], prefix: str) -> list[str]:
        """Write the nodes of a subgraph for these inputs; returns the names of its outputs."""


class Expandable(Operator):
    """An operator that can be written out as nodes."""

    @abstractmethod
    def stands(self, derivative: bool) -> bool:
        """Whether its subgraphs allow it to run, and with `derivative` to be differentiated, without expansion."""

    @abstractmethod
    def keeps_shapes(self, *inputs: TensorSpec) -> bool:
        """Whether inputs of these shapes allow it, too."""

    @abstractmethod
    def expand(self, writer: NodeWriter, node: Node) -> list[str] | None:
        """Write its nodes; returns the names of its outputs, or None if an input that it depends on was not passed."""

    def expands(self, writer: NodeWriter, node: Node) -> bool:
        """Whether this node has to be written out."""
        if not self.stands(writer.derivative):
            return True
        tensors = writer.inferred(node.inputs)
        unknown_shapes = tensors.count(None)
        omitted_inputs = node.inputs.count(None)
        if unknown_shapes > omitted_inputs:
            return False  # without all shapes, it must run without expansion
        return not self.keeps_shapes(*tensors)  # type: ignore[arg-type]


def stands(graph: Subgraph, derivative: bool) -> bool:
    """Whether the nodes of a subgraph run, and with `derivative` are differentiated, without expansion."""
    for node in graph.nodes:
        if node.deciding:
            return False
        operator = node.operator
        if isinstance(operator, Expandable) and not operator.stands(derivative):
            return False
    return True
