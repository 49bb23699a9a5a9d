from typing import Any, cast

from ..contracts.network import Network, Node
from ..contracts.transformation import Transformation
from ._matching import Rewriting, kind

CONVERSIONS = {"Cast", "CastLike"}
# The result has the same elements in the same order.
MOVES = {
    "Expand",
    "Flatten",
    "Reshape",
    "Squeeze",
    "Unsqueeze",
}
SUMS = {"Concat", "Max", "Mean", "Min", "Sum"}  # of any number of inputs


class RemoveNoOps(Transformation):
    """Removes nodes whose result is their first input: Identity, casts to the dtype that is there, Expand and Reshape
    to the shape that is there, Transpose that moves nothing, products with 1 and quotients by 1.

    A dtype or a shape counts only if it is known before a run.
    """

    def apply(self, network: Network) -> None:
        rewriting = Rewriting(network)
        for node in rewriting.nodes:
            source = _unchanged(rewriting, node)
            if source is not None:
                rewriting.bypass(node.outputs[0], source)
        rewriting.finish()


def _unchanged(values: Rewriting, node: Node) -> str | None:
    """The input that equals the node's result; None if the node changes it."""
    if not node.inputs or len(node.outputs) > 1:
        return None
    first = node.inputs[0]
    if not isinstance(first, str):
        return None
    if kind(node) in ("Mul", "Div"):
        return _without_one(values, node)
    if _keeps_first(values, node):
        return first
    return None


def _keeps_first(values: Rewriting, node: Node) -> bool:
    """Whether the result of a node is its first input."""
    name = kind(node)
    if name in SUMS:
        return len(node.inputs) == 1
    if name in CONVERSIONS:
        return _has_same_dtype(values, node)
    if name in MOVES:
        return _has_same_shape(values, node, node.inputs[0])
    if name == "Transpose":
        perm = node.operator.settings["perm"]
        if perm is None:
            return False
        return perm == tuple(range(len(perm)))
    return name == "Identity"


def _has_same_dtype(values: Rewriting, node: Node) -> bool:
    dtype = values.dtype(node.inputs[0])
    if dtype is None:
        return False
    return dtype == values.dtype(node.outputs[0])


def _has_same_shape(values: Rewriting, node: Node, source: Any) -> bool:
    shape = values.shape(source)
    if shape is None:
        return False
    return shape == values.shape(node.outputs[0])


def _without_one(values: Rewriting, node: Node) -> str | None:
    """The other factor of a product with 1, or the dividend of a quotient by 1."""
    first, second = node.inputs
    if _is_unchanged(values, node, first, second):
        return cast(str, first)
    if kind(node) == "Mul" and _is_unchanged(values, node, second, first):
        return cast(str, second)
    return None


def _is_unchanged(values: Rewriting, node: Node, value: Any, other: Any) -> bool:
    """Whether the other input is 1, and does not broadcast the value to another shape."""
    if values.number(other) != 1:
        return False
    return _has_same_shape(values, node, value)
