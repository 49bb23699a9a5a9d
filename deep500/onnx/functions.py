"""Inlines the functions that a model defines."""

from functools import cache

import onnx
from onnx import inliner

from ..errors import Deep500Error, Unsupported

MOST = 100_000  # nodes; functions that call each other can expand without end


def inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without functions; the same one if it has none."""
    if not model.functions:
        return model
    functions = {}
    for function in model.functions:
        functions[function.domain, function.name] = function
    if len(functions) < len(model.functions):
        raise Unsupported("functions of one name with several overloads are not read")

    @cache
    def function_size(key: tuple[str, str]) -> int:
        return sum(map(node_size, functions[key].node))

    def node_size(node: onnx.NodeProto) -> int:
        """How many nodes this one expands to; a call counts too, so that calls of empty functions are limited."""
        size = 1
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                size += sum(map(node_size, graph.node))
        key = (node.domain, node.op_type)
        if key in functions:
            size += function_size(key)
        return size

    try:
        total = sum(map(node_size, model.graph.node))
    except RecursionError:
        raise Deep500Error("its functions call themselves") from None
    if total > MOST:
        raise Unsupported(
            f"its functions come to {total} nodes when they are written out; at most {MOST} are read"
        )
    return inliner.inline_local_functions(model)
