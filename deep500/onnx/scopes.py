"""What names in a graph refer to: a subgraph has names of its own and sees those around it."""

from collections.abc import Iterable
from dataclasses import dataclass

import onnx

from ..errors import Unsupported
from .values import label


@dataclass(frozen=True)
class Pieces:
    """A sequence of pieces of one value along an axis, whose number is known only at run time."""

    value: str
    axis: int
    length: int  # of a piece; the last may be shorter
    keeps_axis: bool


# A value of the network by its name; a sequence of those; None for an optional that holds nothing.
Reference = str | tuple["Reference", ...] | Pieces | None


class Scope:
    """The names of one graph; an unbound name refers to what it does in the outer scope, at the top to itself."""

    def __init__(self, prefix: str = "", outer: "Scope | None" = None):
        self.prefix = prefix
        self.outer = outer
        self.bound: dict[str, Reference] = {}

    def __getitem__(self, name: str) -> Reference:
        if name in self.bound:
            return self.bound[name]
        if self.outer is None:
            return name
        return self.outer[name]

    def bind(self, names: Iterable[str], references: Iterable[Reference]) -> None:
        """Let names refer to these references; empty names and surplus references are ignored."""
        for name, reference in zip(names, references, strict=False):
            if name:
                self.bound[name] = reference

    def value(self, node: onnx.NodeProto, name: str) -> str:
        """The value that a name refers to; "" for an input that is left out."""
        if not name:
            return ""
        reference = self[name]
        if isinstance(reference, tuple | Pieces):
            raise Unsupported(
                f"node {label(node)} takes the sequence {name!r}, and {node.op_type} is there for "
                "tensors only"
            )
        return reference or ""

    def sequence(self, node: onnx.NodeProto, name: str) -> tuple[Reference, ...]:
        """The elements of a sequence; raises `Unsupported` if they are not known while reading."""
        reference = self[name]
        if not isinstance(reference, tuple):
            raise Unsupported(
                f"node {label(node)} takes {name!r} as a sequence, and its elements are not known while "
                "reading"
            )
        return reference
