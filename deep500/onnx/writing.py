"""Writes a Network as an onnx.ModelProto that onnx's checker accepts and onnxruntime runs."""

import json
from collections.abc import Set
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .. import registry
from ..contracts.network import Network, Node
from ..errors import Deep500Error, Unsupported, one_line
from .recording.kernels import OPSET, fields, formal_input


def model_of(network: Network) -> onnx.ModelProto:
    """The model; its metadata say what is trained, so that reading it back gives the same network."""
    network.check_complete()
    nodes: list[onnx.NodeProto] = []
    constants: dict[str, np.ndarray] = {}
    opset = _opset(network)
    for node in network.ordered():
        proto, static = _node(network, node, opset)
        nodes.append(proto)
        constants |= static
    graph = _graph(network, nodes, constants)
    opsets = [helper.make_opsetid("", opset)]
    domains = {node.operator.domain for node in network.nodes}
    for domain in sorted(domains - {""}):
        opsets.append(helper.make_opsetid(domain, 1))
    ir_version = helper.find_min_ir_version_for(opsets, ignore_unknown=True)
    model = helper.make_model(
        graph,
        producer_name="deep500",
        ir_version=ir_version,
        opset_imports=opsets,
    )
    metadata = {
        "deep500.trainable": json.dumps(network.trainable),
        "deep500.state_updates": json.dumps(network.state_updates),
    }
    helper.set_model_props(model, metadata)
    try:
        # Shape inference also gives the outputs their types.
        model = onnx.shape_inference.infer_shapes(model)
        _match_dtypes(model.graph, constants.keys(), opset)
        onnx.checker.check_model(model, full_check=True)
    except (
        onnx.checker.ValidationError,
        onnx.shape_inference.InferenceError,
        ValueError,
    ) as error:
        reason = one_line(error, 300)
        raise Deep500Error(
            f"the network {network.name!r} cannot be written as ONNX: {reason}"
        ) from None
    return model


def _graph(
    network: Network,
    nodes: list[onnx.NodeProto],
    constants: dict[str, np.ndarray],
) -> onnx.GraphProto:
    inputs = []
    for name, tensor in network.inputs.items():
        element_type = _type(tensor.dtype)
        info = helper.make_tensor_value_info(name, element_type, tensor.shape)
        inputs.append(info)
    weights = []
    for name, value in (network.params | constants).items():
        array = np.asarray(value, order="C")
        weights.append(numpy_helper.from_array(array, name))
    outputs = [onnx.ValueInfoProto(name=name) for name in network.outputs]
    return helper.make_graph(nodes, network.name, inputs, outputs, weights)


def _opset(network: Network) -> int:
    """The oldest opset from `OPSET` on that has all operators, so that older runtimes can read the model."""
    opset = OPSET
    for node in network.nodes:
        if not node.operator.domain:
            opset = max(opset, node.operator.since)
    return opset


def _match_dtypes(graph: onnx.GraphProto, constants: Set[str], opset: int) -> None:
    """Give constants the dtype of other inputs of their node where ONNX requires it, as for Pad's fill value."""
    element_types = {}
    for value in (*graph.input, *graph.value_info):
        element_types[value.name] = value.type.tensor_type.elem_type
    tensors = {}
    for tensor in graph.initializer:
        tensors[tensor.name] = tensor
        if tensor.name not in constants:
            element_types[tensor.name] = tensor.data_type
    for node in graph.node:
        is_standard = onnx.defs.has(node.op_type, opset, node.domain)
        if constants.isdisjoint(node.input) or not is_standard:
            continue
        required = _required_types(node, element_types, opset)
        for position, name in enumerate(node.input):
            type_variable = formal_input(node.op_type, position, opset).type_str
            if name in constants and type_variable in required:
                _cast(tensors[name], required[type_variable])


def _required_types(
    node: onnx.NodeProto, element_types: dict[str, int], opset: int
) -> dict[str, int]:
    """The element types of a node's inputs, by the type variables of ONNX's schema."""
    required = {}
    for position, name in enumerate(node.input):
        element_type = element_types.get(name)
        if element_type:
            type_variable = formal_input(node.op_type, position, opset).type_str
            required[type_variable] = element_type
    return required


def _cast(tensor: onnx.TensorProto, element_type: int) -> None:
    if tensor.data_type == element_type:
        return
    dtype = helper.tensor_dtype_to_np_dtype(element_type)
    array = numpy_helper.to_array(tensor).astype(dtype)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _node(
    network: Network, node: Node, opset: int
) -> tuple[onnx.NodeProto, dict[str, np.ndarray]]:
    """A node, and the constants that hold its static inputs."""
    operator = node.operator
    name = type(operator).__name__
    _check_version(node, opset)
    schema = None
    settings = operator.settings
    if not operator.domain and onnx.defs.has(name, opset):
        schema = onnx.defs.get_schema(name, opset)
        settings = fields(operator, opset)
    attributes: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, np.generic):
            value = numpy_helper.from_array(value.reshape(1))
        if value is not None:
            attributes[key] = value
    inputs: list[str] = []
    constants = {}
    parameters = operator.input_names(len(node.inputs))
    for parameter, value in zip(parameters, node.inputs, strict=True):
        if value is None or isinstance(value, str):
            inputs.append(value or "")
        elif schema is not None and parameter in schema.attributes:
            attributes[parameter] = value
        else:
            constant_name = network._free_name(f"{node.name}.{parameter}")
            inputs.append(constant_name)
            constants[constant_name] = _constant(value)
    _check_attributes(node, attributes, schema, opset)
    proto = helper.make_node(
        name,
        inputs,
        list(node.outputs),
        name=node.name,
        domain=operator.domain,
        **attributes,
    )
    return proto, constants


def _check_version(node: Node, opset: int) -> None:
    """Raise `Unsupported` for a standard operator that is not the one of the opset that is written."""
    operator = node.operator
    if operator.domain:
        return
    name = type(operator).__name__
    if type(operator) is not registry.find("operators", name):
        raise Unsupported(
            f"node {node.name!r} is a {name} of opset {operator.since}, and opset {opset} is written"
        )


def _check_attributes(
    node: Node, attributes: dict[str, Any], schema: Any, opset: int
) -> None:
    if schema is None:
        return
    unknown = attributes.keys() - set(schema.attributes)
    if unknown:
        first = min(unknown)
        operator = type(node.operator).__name__
        raise Unsupported(
            f"{first!r} of node {node.name!r} is no attribute of ONNX's {operator} in opset {opset}"
        )


def _constant(value: Any) -> np.ndarray:
    if isinstance(value, bool | np.generic):
        return np.asarray(value)
    if _are_integers(value):
        return np.asarray(value, np.int64)
    return np.asarray(value, np.float32)


def _are_integers(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(isinstance(element, int) for element in value)
    return isinstance(value, int)


def _type(dtype: str) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
