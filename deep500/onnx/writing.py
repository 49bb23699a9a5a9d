"""From a Network to an onnx.ModelProto that onnx's checker accepts and onnxruntime runs."""

import json
from collections.abc import Set
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .. import registry
from ..contracts.network import Network, Node
from ..errors import Deep500Error, Unsupported, one_line
from .recording.kernels import fields, formal_input

OPSET = 21
IR_VERSION = 10  # what came with opset 21, so that older runtimes read it too


def model_of(network: Network) -> onnx.ModelProto:
    """The model; its metadata say what is trained, so that reading it back gives the same network."""
    network.check_complete()
    nodes: list[onnx.NodeProto] = []
    constants: dict[str, np.ndarray] = {}
    for node in network.ordered():
        made, static = _node(network, node)
        nodes.append(made)
        constants |= static
    inputs = [
        helper.make_tensor_value_info(name, _type(tensor.dtype), tensor.shape)
        for name, tensor in network.inputs.items()
    ]
    weights = [
        numpy_helper.from_array(np.asarray(value, order="C"), name)
        for name, value in (network.params | constants).items()
    ]
    domains = sorted({node.operator.domain for node in network.nodes} - {""})
    graph = helper.make_graph(
        nodes,
        network.name,
        inputs,
        [onnx.ValueInfoProto(name=name) for name in network.outputs],
        weights,
    )
    model = helper.make_model(
        graph,
        producer_name="deep500",
        ir_version=IR_VERSION,
        opset_imports=[
            helper.make_opsetid("", OPSET),
            *(helper.make_opsetid(domain, 1) for domain in domains),
        ],
    )
    helper.set_model_props(
        model,
        {
            "deep500.trainable": json.dumps(network.trainable),
            "deep500.state_updates": json.dumps(network.state_updates),
        },
    )
    try:
        model = onnx.shape_inference.infer_shapes(
            model
        )  # which also gives the outputs their types
        _match_dtypes(model.graph, constants.keys())
        onnx.checker.check_model(model, full_check=True)
    except (
        onnx.checker.ValidationError,
        onnx.shape_inference.InferenceError,
        ValueError,
    ) as error:
        raise Deep500Error(
            f"the network {network.name!r} cannot be written as ONNX: {one_line(error, 300)}"
        ) from None
    return model


def _match_dtypes(graph: onnx.GraphProto, constants: Set[str]) -> None:
    """Give constants the dtypes of the inputs beside which ONNX wants them, as Pad does that of its filling."""
    types = {}
    for value in (*graph.input, *graph.value_info):
        types[value.name] = value.type.tensor_type.elem_type
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    types |= {name: t.data_type for name, t in tensors.items() if name not in constants}
    for node in graph.node:
        if constants.isdisjoint(node.input) or not onnx.defs.has(
            node.op_type, OPSET, node.domain
        ):
            continue
        formals = [
            formal_input(node.op_type, place).type_str
            for place in range(len(node.input))
        ]
        known = {
            f: types[n]
            for f, n in zip(formals, node.input, strict=True)
            if types.get(n)
        }
        for formal, name in zip(formals, node.input, strict=True):
            if (
                name in constants
                and known.get(formal, tensors[name].data_type)
                != tensors[name].data_type
            ):
                dtype = helper.tensor_dtype_to_np_dtype(known[formal])
                array = numpy_helper.to_array(tensors[name]).astype(dtype)
                tensors[name].CopyFrom(numpy_helper.from_array(array, name))


def _node(network: Network, node: Node) -> tuple[onnx.NodeProto, dict[str, np.ndarray]]:
    """A node, and the constants that hold its static inputs."""
    operator, name = node.operator, type(node.operator).__name__
    if not operator.domain and (
        operator.since > OPSET or type(operator) is not registry.find("operators", name)
    ):
        raise Unsupported(
            f"node {node.name!r} is a {name} of opset {operator.since}, and opset {OPSET} is written"
        )
    known = not operator.domain and onnx.defs.has(name, OPSET)
    schema = onnx.defs.get_schema(name, OPSET) if known else None
    settings = operator.settings if schema is None else fields(operator)
    attributes = {
        key: numpy_helper.from_array(value.reshape(1))
        if isinstance(value, np.generic)
        else value
        for key, value in settings.items()
        if value is not None
    }
    inputs, constants = [], {}
    names = operator.input_names(len(node.inputs))
    for parameter, value in zip(names, node.inputs, strict=True):
        if value is None or isinstance(value, str):
            inputs.append(value or "")
        elif schema is not None and parameter in schema.attributes:
            attributes[parameter] = value
        else:
            inputs.append(network._free(f"{node.name}.{parameter}"))
            constants[inputs[-1]] = _constant(value)
    _check_attributes(node, attributes, schema)
    made = helper.make_node(
        name,
        inputs,
        list(node.outputs),
        name=node.name,
        domain=operator.domain,
        **attributes,
    )
    return made, constants


def _check_attributes(node: Node, attributes: dict[str, Any], schema: Any) -> None:
    if schema is not None and (unknown := attributes.keys() - set(schema.attributes)):
        raise Unsupported(
            f"{sorted(unknown)[0]!r} of node {node.name!r} is no attribute of ONNX's "
            f"{type(node.operator).__name__} in opset {OPSET}"
        )


def _constant(value: Any) -> np.ndarray:
    if isinstance(value, bool | np.generic):
        return np.asarray(value)
    return np.asarray(value, np.int64 if _integers(value) else np.float32)


def _integers(value: Any) -> bool:
    return all(
        isinstance(v, int)
        for v in (value if isinstance(value, tuple | list) else (value,))
    )


def _type(dtype: str) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
