from typing import Any

from ..contracts.network import Network, Node
from ..contracts.transformation import Transformation
from ._matching import Rewriting, kind

CONVERSIONS = {"Cast", "CastLike"}
MOVES = {
    "Expand",
    "Flatten",
    "Reshape",
    "Squeeze",
    "Unsqueeze",
}  # the same elements in the same order
SUMS = {"Concat", "Max", "Mean", "Min", "Sum"}  # of any number of inputs


class RemoveNoOps(Transformation):
    """Removes nodes whose result is their first input: Identity, casts to the dtype that is there, Expand and Reshape
    to the shape that is there, Transpose that moves nothing, products with 1 and quotients by 1.

    A dtype or a shape counts only if it is known before a run.
    """

    def apply(self, network: Network) -> None:
        rewriting = Rewriting(network)
        for node in rewriting.nodes:
            same = _unchanged(rewriting, node)
            if same is not None:
                rewriting.bypass(node.outputs[0], same)
        rewriting.finish()


def _unchanged(values: Rewriting, node: Node) -> str | None:
    """The input that the node's result is; None if the node does something."""
    first = node.inputs[0] if node.inputs else None
    if not isinstance(first, str) or len(node.outputs) > 1:
        return None
    name = kind(node)
    if name == "Identity" or (name in SUMS and len(node.inputs) == 1):
        return first
    if name in CONVERSIONS:
        return first if _has_same_dtype(values, node) else None
    if name in MOVES:
        return first if _has_same_shape(values, node, first) else None
    if name == "Transpose":
        perm = node.operator.settings["perm"]
        return first if perm is not None and perm == tuple(range(len(perm))) else None
    if name in ("Mul", "Div"):
        return _without_one(values, node)
    return None


def _has_same_dtype(values: Rewriting, node: Node) -> bool:
    dtype = values.dtype(node.inputs[0])
    return dtype is not None and dtype == values.dtype(node.outputs[0])


def _has_same_shape(values: Rewriting, node: Node, source: Any) -> bool:
    shape = values.shape(source)
    return shape is not None and shape == values.shape(node.outputs[0])


def _without_one(values: Rewriting, node: Node) -> str | None:
    """The factor (or dividend) that a 1 leaves as it is."""
    left, right = node.inputs
    if values.number(right) == 1 and _has_same_shape(values, node, left):
        return left if isinstance(left, str) else None
    if (
        kind(node) == "Mul"
        and values.number(left) == 1
        and _has_same_shape(values, node, right)
    ):
        return right if isinstance(right, str) else None
    return None
