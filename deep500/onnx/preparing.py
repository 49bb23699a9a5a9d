"""A model before it is read, by onnx-ir: nodes in order, and what subgraphs hold in the main graph, once.

A weight in the body of a loop is one weight, however often the body is written out.
"""

from collections.abc import Iterator

import onnx
import onnx_ir as ir
from onnx_ir.passes.common import LiftSubgraphInitializersToMainGraphPass, TopologicalSortPass

from ..errors import Deep500Error, one_line

UNSORTED = "topologically sorted"  # in what onnx's checker says
SMALL = 1024  # bytes of a constant that may stand in every round


def with_shared_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the weights and large constants of its subgraphs in its main graph; the same one without such."""
    if not any(_holds_weights(graph) for graph in _subgraphs(model.graph)):
        return model
    representation = _representation(model)
    LiftSubgraphInitializersToMainGraphPass()(representation)
    _lift_constants(representation)
    return ir.to_proto(representation)


def in_order(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """The model with every node behind those that it needs; None if there is no such order."""
    representation = _representation(model)
    try:
        TopologicalSortPass()(representation)
    except Exception:  # a cycle
        return None
    return ir.to_proto(representation)


def _representation(model: onnx.ModelProto) -> ir.Model:
    try:
        return ir.from_proto(model)
    except Exception as error:
        raise Deep500Error(f"it is no valid ONNX: {one_line(error, 300)}") from None


def _subgraphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield attribute.g
                yield from _subgraphs(attribute.g)


def _holds_weights(graph: onnx.GraphProto) -> bool:
    constants = [node for node in graph.node if node.op_type == "Constant"]
    return bool(graph.initializer) or any(node.ByteSize() > SMALL for node in constants)


def _lift_constants(model: ir.Model) -> None:
    """Move large Constant nodes of subgraphs to the beginning of the main graph, under names of their own."""
    names = {value.name for graph in model.graphs() for node in graph for value in node.outputs}
    names |= {*model.graph.initializers, *(value.name for value in model.graph.inputs)}
    for graph in [*model.graphs()]:
        if graph is model.graph:
            continue
        for node in [*graph]:
            if _is_large_constant(node):
                graph.remove(node)
                node.outputs[0].name = _unused(f"{graph.name}.{node.outputs[0].name}", names)
                model.graph.insert_before(model.graph[0], node)


def _is_large_constant(node: ir.Node) -> bool:
    if node.op_type != "Constant" or node.domain or node.outputs[0].is_graph_output():
        return False
    value = node.attributes.get("value")
    return value is not None and value.as_tensor().nbytes > SMALL


def _unused(stem: str, names: set[str | None]) -> str:
    name = stem
    number = 0
    while name in names:
        number += 1
        name = f"{stem}_{number}"
    names.add(name)
    return name
