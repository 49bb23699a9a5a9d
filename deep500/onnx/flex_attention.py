"""FlexAttention with subgraphs that change its scores or probabilities, written out as the nodes it consists of."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from ..contracts.operator import Tensor
from ..errors import Deep500Error, Unsupported
from .control_flow import Body
from .scopes import Reference, Scope
from .values import label

if TYPE_CHECKING:
    from .reading import Reader


def flex_attention(
    reader: "Reader", node: onnx.NodeProto, scope: Scope
) -> Sequence[Reference] | None:
    """None for one without subgraphs, which is a node like others."""
    given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if "score_mod" not in given and "prob_mod" not in given:
        return None
    q, k, v = (scope.value(node, name) for name in node.input)
    (batch, heads, length, size), kv_heads = (
        _kind(reader, node, q).shape,
        _kind(reader, node, k).shape[1],
    )
    keys, v_size = _kind(reader, node, v).shape[2:]
    kind = _kind(reader, node, q).dtype
    wide = given.get(
        "softmax_precision",
        onnx.TensorProto.FLOAT if kind in ("float16", "bfloat16") else None,
    )
    stem = node.output[0]
    rows = (
        heads // kv_heads * length
    )  # heads of queries that share one of keys stand below each other

    def put(
        operator: str, *inputs: Reference | tuple[int, ...], **attributes: Any
    ) -> str:
        return reader.emit(operator, inputs, stem, **attributes)[0]

    def changed(x: str, attribute: str) -> Reference:
        return (
            Body(reader, node, attribute, scope, 1, 1).write([x], attribute)[0]
            if attribute in given
            else x
        )

    scores = put(
        "MatMul",
        put("Reshape", q, (batch, kv_heads, rows, size)),
        put("Transpose", k, perm=(0, 1, 3, 2)),
    )
    scores = put("Reshape", scores, (batch, heads, length, keys))
    scores, values = (put("Cast", x, to=wide) if wide else x for x in (scores, v))
    scale = np.asarray(
        given.get("scale", 1 / math.sqrt(size)), _kind(reader, node, values).dtype
    )
    scores = put("Mul", scores, reader.constant(f"{stem}.scale", scale))
    weights = changed(put("Softmax", changed(scores, "score_mod"), axis=-1), "prob_mod")
    y = put("MatMul", put("Reshape", weights, (batch, kv_heads, rows, keys)), values)
    y = put("Reshape", y, (batch, heads, length, v_size))
    return [put("CastLike", y, v) if wide else y]


def _kind(reader: "Reader", node: onnx.NodeProto, name: str) -> Tensor:
    if name not in reader.folding.tensors:
        raise Unsupported(
            f"node {label(node)} changes scores of attention, and the shape of {name!r} is not known: "
            "give the model fixed shapes"
        )
    if len((found := reader.folding.tensors[name]).shape) != 4:
        raise Deep500Error(
            f"node {label(node)} takes {name!r} with the axes batch, head, place and size, not as "
            f"{list(found.shape)}"
        )
    return found
