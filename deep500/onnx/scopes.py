"""What the names in a graph stand for: a subgraph has names of its own and sees those around it."""

from collections.abc import Iterable
from dataclasses import dataclass

import onnx

from ..errors import Unsupported
from .values import label


@dataclass(frozen=True)
class Pieces:
    """A sequence of pieces of one value, along an axis; how many there are is known only when it runs."""

    value: str
    axis: int
    length: int  # of a piece; the last may be shorter
    keeps_axis: bool


# A value of the network by its name; a sequence of those; None for an optional that holds nothing.
Reference = str | tuple["Reference", ...] | Pieces | None


class Scope:
    """Names of one graph; one that is not bound here stands for what it does outside, in the end for itself."""

    def __init__(self, prefix: str = "", outer: "Scope | None" = None):
        self.prefix, self.outer = prefix, outer
        self.bound: dict[str, Reference] = {}

    def __getitem__(self, name: str) -> Reference:
        if name in self.bound:
            return self.bound[name]
        return self.outer[name] if self.outer else name

    def bind(self, names: Iterable[str], references: Iterable[Reference]) -> None:
        """Names without a reference, and references without a name, are left out."""
        self.bound.update((n, r) for n, r in zip(names, references, strict=False) if n)

    def value(self, node: onnx.NodeProto, name: str) -> str:
        """The value that a name stands for; an empty one is an input left out."""
        found = self[name] if name else ""
        if isinstance(found, tuple | Pieces):
            raise Unsupported(
                f"node {label(node)} takes the sequence {name!r}, and {node.op_type} is there for "
                "tensors only"
            )
        return found or ""

    def sequence(self, node: onnx.NodeProto, name: str) -> tuple[Reference, ...]:
        found = self[name]
        if not isinstance(found, tuple):
            raise Unsupported(
                f"node {label(node)} takes {name!r} as a sequence, and its elements are not known while "
                "reading"
            )
        return found
