"""Functions of the model's own, written out where they are called."""

from functools import cache

import onnx
from onnx import inliner

from ..errors import Deep500Error, Unsupported

MOST = 100_000  # nodes; functions that call each other can grow without end


def inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without functions; the same one if it has none."""
    if not model.functions:
        return model
    functions = {(f.domain, f.name): f for f in model.functions}
    if len(functions) < len(model.functions):
        raise Unsupported("functions of one name with several overloads are not read")

    @cache
    def size(key: tuple[str, str]) -> int:
        return sum(map(weight, functions[key].node))

    def weight(node: onnx.NodeProto) -> int:
        inner = sum(
            weight(n) for a in node.attribute for g in (a.g, *a.graphs) for n in g.node
        )
        key = (node.domain, node.op_type)
        called = size(key) if key in functions else 0
        return (
            1 + inner + called
        )  # a call counts, so that empty functions cannot multiply for nothing

    try:
        total = sum(map(weight, model.graph.node))
    except RecursionError:
        raise Deep500Error("its functions call themselves") from None
    if total > MOST:
        raise Unsupported(
            f"its functions come to {total} nodes when they are written out; at most {MOST} are read"
        )
    return inliner.inline_local_functions(model)
