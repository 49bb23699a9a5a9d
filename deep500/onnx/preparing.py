"""Prepares a model to be read: checks it, sorts its nodes, and moves weights of subgraphs to the main graph.

A weight in the body of a loop is one weight, however often the body is unrolled.
"""

from collections.abc import Iterator

import onnx
import onnx_ir as ir
from onnx_ir.passes.common import (
    LiftSubgraphInitializersToMainGraphPass,
    TopologicalSortPass,
)

from ..errors import Deep500Error, Unsupported, one_line
from .values import label

UNSORTED = "topologically sorted"  # part of a message of onnx's checker
SMALL = 1024  # bytes of a constant that every round of a loop may repeat


def checked(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its nodes in order; raises `Deep500Error` if onnx's own checker rejects it."""
    if model.graph.sparse_initializer:
        raise Unsupported("sparse initializers are not read")
    model = with_output_shapes(model)
    problem = _problem(model)
    if UNSORTED in problem:
        check_sources(model.graph)
        model = in_order(model)
        problem = _problem(model)
    if problem:
        raise Deep500Error(f"it is no valid ONNX: {problem}")
    return model


def _problem(model: onnx.ModelProto) -> str:
    """What onnx's checker says about types, missing inputs, cycles and names that are used twice; "" if nothing."""
    try:
        onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, ValueError) as error:
        # A ValueError: the model is beyond protobuf's 2 GB.
        return one_line(error, 300)
    return ""


def with_shared_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the weights and large constants of its subgraphs moved to its main graph."""
    if not any(_holds_weights(graph) for graph in _subgraphs(model.graph)):
        return model
    representation = _representation(model)
    LiftSubgraphInitializersToMainGraphPass()(representation)
    _lift_constants(representation)
    return ir.to_proto(representation)


def in_order(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its nodes in topological order; raises `Deep500Error` if they form a cycle."""
    representation = _representation(model)
    try:
        TopologicalSortPass()(representation)
    except Exception:
        raise Deep500Error(_cycle(model.graph)) from None
    return ir.to_proto(representation)


def _cycle(graph: onnx.GraphProto) -> str:
    """An error message that names the first node of the main graph that comes before one of its inputs."""
    cycle = "its nodes form a cycle, so that no order computes them"
    late: set[str] = set()
    for node in graph.node:
        late.update(node.output)
    for node in graph.node:
        for name in node.input:
            if name in late:
                return f"{cycle}; the first that comes too early is {label(node)}, which needs {name!r}"
        late.difference_update(node.output)
    return cycle


def with_output_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with a shape for every output, which onnx's checker requires although it is not used."""
    for value in model.graph.input:
        if _lacks_shape(value):
            raise Deep500Error(
                f"the input {value.name!r} has no shape: give it one, with names for open sizes"
            )
    if not any(map(_lacks_shape, model.graph.output)):
        return model
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for value in filter(_lacks_shape, changed.graph.output):
        value.type.tensor_type.shape.SetInParent()
    return changed


def _lacks_shape(value: onnx.ValueInfoProto) -> bool:
    tensor = value.type.tensor_type
    return bool(tensor.elem_type) and not tensor.HasField("shape")


def check_sources(graph: onnx.GraphProto) -> None:
    """Raise `Deep500Error` for the first node of the main graph with an input that nothing computes."""
    sources = {""}
    sources.update(value.name for value in graph.input)
    sources.update(weight.name for weight in graph.initializer)
    for node in graph.node:
        sources.update(node.output)
    for node in graph.node:
        for name in node.input:
            if name not in sources:
                raise Deep500Error(
                    f"node {label(node)} needs {name!r}, which nothing makes"
                )


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
    if graph.initializer:
        return True
    constants = [node for node in graph.node if node.op_type == "Constant"]
    return any(node.ByteSize() > SMALL for node in constants)


def _lift_constants(model: ir.Model) -> None:
    """Move large Constant nodes of subgraphs to the beginning of the main graph, under new names."""
    main_graph = model.graph
    names: set[str | None] = {*main_graph.initializers}
    names.update(value.name for value in main_graph.inputs)
    for graph in model.graphs():
        for node in graph:
            names.update(value.name for value in node.outputs)
    for graph in [*model.graphs()]:
        if graph is main_graph:
            continue
        for node in [*graph]:
            if _is_large_constant(node):
                graph.remove(node)
                output = node.outputs[0]
                output.name = _unused(f"{graph.name}.{output.name}", names)
                main_graph.insert_before(main_graph[0], node)


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
