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
    def emit(
        self, operator: str, inputs: Sequence[Any], stem: str, count: int = 1, **attributes: Any
    ) -> list[str]:
        """A new node with so many results, which get names that begin with `stem`."""

    @abstractmethod
    def copy(self, graph: Subgraph, arguments: Sequence[Any], prefix: str) -> list[str]:
        """The nodes of a graph, for these inputs; returns what its outputs are called."""


class Expandable(Operator):
    """An operator that can be written out as nodes."""

    @abstractmethod
    def expands(self, writer: Writer, node: Node) -> bool:
        """Whether this node has to be written out: it cannot run, or has no derivative, as it stands."""

    @abstractmethod
    def expand(self, writer: Writer, node: Node) -> list[str] | None:
        """The names of what stands for its outputs; None if an input that decides did not come."""
