"""Expands FlexAttention with subgraphs that change its scores or probabilities to the nodes it consists of."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from ..contracts.operator import TensorSpec
from ..errors import Deep500Error, Unsupported
from .control_flow import Body
from .scopes import Reference, Scope
from .values import attribute_values, label

if TYPE_CHECKING:
    from .reading import Reader


def flex_attention(
    reader: "Reader", node: onnx.NodeProto, scope: Scope
) -> Sequence[Reference] | None:
    """The reference of the result; None for a node without subgraphs, which is read like any other."""
    attributes = attribute_values(node)
    if "score_mod" not in attributes and "prob_mod" not in attributes:
        return None
    q, k, v = (scope.value(node, name) for name in node.input)
    query = _spec(reader, node, q)
    key = _spec(reader, node, k)
    value = _spec(reader, node, v)
    batch, heads, length, size = query.shape
    kv_heads = key.shape[1]
    keys, v_size = value.shape[2:]
    default_precision = None
    if query.dtype in ("float16", "bfloat16"):
        default_precision = onnx.TensorProto.FLOAT
    precision = attributes.get("softmax_precision", default_precision)
    stem = node.output[0]
    # The heads of queries that share one head of keys are stacked as rows.
    rows = heads // kv_heads * length

    def put(
        operator: str, *inputs: Reference | tuple[int, ...], **attributes: Any
    ) -> str:
        (result,) = reader.emit(operator, inputs, stem, **attributes)
        return result

    def modified(x: str, attribute: str) -> Reference:
        if attribute not in attributes:
            return x
        body = Body(reader, node, attribute, scope, 1, 1)
        return body.inline([x], attribute)[0]

    query_rows = put("Reshape", q, (batch, kv_heads, rows, size))
    key_columns = put("Transpose", k, perm=(0, 1, 3, 2))
    products = put("MatMul", query_rows, key_columns)
    scores = put("Reshape", products, (batch, heads, length, keys))
    values = v
    if precision:
        scores = put("Cast", scores, to=precision)
        values = put("Cast", values, to=precision)
    scale = attributes.get("scale", 1 / math.sqrt(size))
    scale_array = np.asarray(scale, _spec(reader, node, values).dtype)
    scale_name = reader.constant(f"{stem}.scale", scale_array)
    scores = put("Mul", scores, scale_name)
    probabilities = put("Softmax", modified(scores, "score_mod"), axis=-1)
    weights = modified(probabilities, "prob_mod")
    weight_rows = put("Reshape", weights, (batch, kv_heads, rows, keys))
    result_rows = put("MatMul", weight_rows, values)
    result = put("Reshape", result_rows, (batch, heads, length, v_size))
    if precision:
        result = put("CastLike", result, v)
    return [result]


def _spec(reader: "Reader", node: onnx.NodeProto, name: str) -> TensorSpec:
    """Shape and dtype of an input, which must be known and have four axes."""
    if name not in reader.folding.tensors:
        raise Unsupported(
            f"node {label(node)} changes scores of attention, and the shape of {name!r} is not known: "
            "give the model fixed shapes"
        )
    spec = reader.folding.tensors[name]
    if len(spec.shape) != 4:
        raise Deep500Error(
            f"node {label(node)} takes {name!r} with the axes batch, head, place and size, not as "
            f"{list(spec.shape)}"
        )
    return spec
