"""Nodes of old opsets in newer terms, where those cover them: broadcasting by axis, Softmax over a matrix, …"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ..contracts.operator import Tensor
from ..errors import Unsupported
from .values import label

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
# The opset that a node is lifted to, by operator.
FIRST = {
    **dict.fromkeys(ELEMENTWISE, 7),
    "Gemm": 7,
    **dict.fromkeys(OVER_MATRICES, 13),
    "BatchNormalization": 14,
}


def upgraded(
    node: onnx.NodeProto, version: int, tensors: Mapping[str, Tensor]
) -> list[onnx.NodeProto]:
    """What computes the same in the opset that FIRST gives; `tensors` tells the shapes that are known."""
    given = {
        a.name: helper.get_attribute_value(a)
        for a in node.attribute
        if a.name != "consumed_inputs"
    }
    if node.op_type in OVER_MATRICES:
        return _over_matrices(node, given.pop("axis", 1), tensors)
    if node.op_type == "BatchNormalization":
        return [_normalising(node, given, version)]
    broadcast, axis = given.pop("broadcast", 0), given.pop("axis", None)
    if node.op_type == "PRelu":
        axis = 1  # one slope per channel
    if node.op_type == "Gemm" or (
        node.op_type != "PRelu" and (not broadcast or axis is None)
    ):
        return [_like(node, given)]
    return _aligned(node, given, axis, tensors)


def _aligned(
    node: onnx.NodeProto,
    given: dict[str, Any],
    axis: int,
    tensors: Mapping[str, Tensor],
) -> list:
    """The second input's axes begin at `axis` of the first's: give it axes of length 1 behind them."""
    a, b = _known(node, node.input[0], tensors), _known(node, node.input[1], tensors)
    behind = len(a.shape) - axis % max(len(a.shape), 1) - len(b.shape)
    if behind <= 0 or b.size == 1:
        return [_like(node, given)]
    made = _like(node, given)
    made.input[1] = f"{node.output[0]}.aligned"
    return [*_reshape(node.input[1], made.input[1], (*b.shape, *[1] * behind)), made]


def _over_matrices(
    node: onnx.NodeProto, axis: int, tensors: Mapping[str, Tensor]
) -> list[onnx.NodeProto]:
    """All axes from `axis` on are taken together."""
    x = _known(node, node.input[0], tensors)
    if axis % max(len(x.shape), 1) == len(x.shape) - 1:
        return [_like(node, {"axis": -1})]
    if 0 in x.shape:
        raise Unsupported(f"node {label(node)} takes an empty array along several axes")
    made, flat = _like(node, {"axis": -1}), f"{node.output[0]}.matrix"
    made.input[0], made.output[0] = flat, f"{flat}.done"
    return [
        helper.make_node("Flatten", [node.input[0]], [flat], axis=axis),
        made,
        *_reshape(made.output[0], node.output[0], x.shape),
    ]


def _normalising(
    node: onnx.NodeProto, given: dict[str, Any], version: int
) -> onnx.NodeProto:
    trained = version < 7 and not given.pop("is_test", 0)
    if trained or len(node.output) > 1 or not given.pop("spatial", 1):
        raise Unsupported(
            f"node {label(node)} is a BatchNormalization of opset {version} that is being trained or has "
            "statistics for every element; export it for inference, or in opset 14 or later"
        )
    return _like(node, given)


def _like(node: onnx.NodeProto, attributes: dict[str, Any]) -> onnx.NodeProto:
    return helper.make_node(
        node.op_type, list(node.input), list(node.output), name=node.name, **attributes
    )


def _reshape(source: str, to: str, shape: tuple[int, ...]) -> list[onnx.NodeProto]:
    constant = numpy_helper.from_array(np.asarray(shape, np.int64))
    return [
        helper.make_node("Constant", [], [f"{to}.shape"], value=constant),
        helper.make_node("Reshape", [source, f"{to}.shape"], [to]),
    ]


def _known(node: onnx.NodeProto, name: str, tensors: Mapping[str, Tensor]) -> Tensor:
    if name not in tensors:
        raise Unsupported(
            f"node {label(node)} is a {node.op_type} whose meaning depends on the shape of {name!r}, "
            "which is not known: give the model fixed shapes, or convert it; from opset "
            f"{FIRST[node.op_type]} on it does not"
        )
    return tensors[name]
