"""Rewrites nodes of old opsets for newer ones, where those cover them: broadcasting by axis, Softmax over a matrix."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ..contracts.operator import TensorSpec
from ..errors import Unsupported
from .values import attribute_values, label

ELEMENTWISE = (
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "And",
    "Or",
    "Xor",
    "Equal",
    "Greater",
    "Less",
    "PRelu",
)
OVER_MATRICES = ("Softmax", "LogSoftmax", "Hardmax")
# The opset that a node is upgraded to, by operator.
FIRST = {
    **dict.fromkeys(ELEMENTWISE, 7),
    "Gemm": 7,
    **dict.fromkeys(OVER_MATRICES, 13),
    "BatchNormalization": 14,
}


def upgraded(
    node: onnx.NodeProto, version: int, tensors: Mapping[str, TensorSpec]
) -> list[onnx.NodeProto]:
    """Nodes that compute the same in the opset that FIRST gives; `tensors` holds the shapes that are known."""
    attributes = attribute_values(node)
    attributes.pop("consumed_inputs", None)
    if node.op_type in OVER_MATRICES:
        axis = attributes.pop("axis", 1)
        return _over_matrices(node, axis, tensors)
    if node.op_type == "BatchNormalization":
        return [_batch_normalization(node, attributes, version)]
    broadcast = attributes.pop("broadcast", 0)
    axis = attributes.pop("axis", None)
    if node.op_type == "PRelu":
        return _aligned(node, attributes, 1, tensors)  # one slope per channel
    if node.op_type == "Gemm" or not broadcast or axis is None:
        return [_with_attributes(node, attributes)]
    return _aligned(node, attributes, axis, tensors)


def _aligned(
    node: onnx.NodeProto,
    attributes: dict[str, Any],
    axis: int,
    tensors: Mapping[str, TensorSpec],
) -> list:
    """The second input's axes begin at `axis` of the first's: give it axes of length 1 behind them."""
    a = _known_tensor(node, node.input[0], tensors)
    b = _known_tensor(node, node.input[1], tensors)
    rank = len(a.shape)
    start = axis % max(rank, 1)
    missing = rank - start - len(b.shape)
    upgraded = _with_attributes(node, attributes)
    if missing <= 0 or b.size == 1:
        return [upgraded]
    aligned = f"{node.output[0]}.aligned"
    upgraded.input[1] = aligned
    ones = (1,) * missing
    reshape = _reshape(node.input[1], aligned, b.shape + ones)
    return [*reshape, upgraded]


def _over_matrices(
    node: onnx.NodeProto, axis: int, tensors: Mapping[str, TensorSpec]
) -> list[onnx.NodeProto]:
    """All axes from `axis` on are taken together."""
    x = _known_tensor(node, node.input[0], tensors)
    rank = len(x.shape)
    upgraded = _with_attributes(node, {"axis": -1})
    if axis % max(rank, 1) == rank - 1:
        return [upgraded]
    if 0 in x.shape:
        raise Unsupported(f"node {label(node)} takes an empty array along several axes")
    source = node.input[0]
    target = node.output[0]
    matrix = f"{target}.matrix"
    result = f"{matrix}.done"
    flatten = helper.make_node("Flatten", [source], [matrix], axis=axis)
    upgraded.input[0] = matrix
    upgraded.output[0] = result
    reshape = _reshape(result, target, x.shape)
    return [flatten, upgraded, *reshape]


def _batch_normalization(
    node: onnx.NodeProto, attributes: dict[str, Any], version: int
) -> onnx.NodeProto:
    is_trained = len(node.output) > 1
    if version < 7 and not attributes.pop("is_test", 0):
        is_trained = True
    is_per_channel = attributes.pop("spatial", 1)
    if is_trained or not is_per_channel:
        raise Unsupported(
            f"node {label(node)} is a BatchNormalization of opset {version} that is being trained or has "
            "statistics for every element; export it for inference, or in opset 14 or later"
        )
    return _with_attributes(node, attributes)


def _with_attributes(
    node: onnx.NodeProto, attributes: dict[str, Any]
) -> onnx.NodeProto:
    """The node with other attributes."""
    inputs = list(node.input)
    outputs = list(node.output)
    return helper.make_node(node.op_type, inputs, outputs, name=node.name, **attributes)


def _reshape(source: str, result: str, shape: tuple[int, ...]) -> list[onnx.NodeProto]:
    sizes = numpy_helper.from_array(np.asarray(shape, np.int64))
    sizes_name = f"{result}.shape"
    constant = helper.make_node("Constant", [], [sizes_name], value=sizes)
    reshape = helper.make_node("Reshape", [source, sizes_name], [result])
    return [constant, reshape]


def _known_tensor(
    node: onnx.NodeProto, name: str, tensors: Mapping[str, TensorSpec]
) -> TensorSpec:
    """Shape and dtype of a value; raises `Unsupported` if they are not known."""
    if name not in tensors:
        raise Unsupported(
            f"node {label(node)} is a {node.op_type} whose meaning depends on the shape of {name!r}, "
            "which is not known: give the model fixed shapes, or convert it; from opset "
            f"{FIRST[node.op_type]} on it does not"
        )
    return tensors[name]
