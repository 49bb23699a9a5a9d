from dataclasses import replace
from typing import Any

import numpy as np

from ..contracts.network import Network, Node
from ..contracts.operator import Tensor
from ..contracts.transformation import Transformation
from ._matching import Rewriting, kind, operator

SWAPPED = (0, 1, 3, 2)


class FuseAttention(Transformation):
    """Recognises attention over heads, softmax(scale q kᵀ + mask) v, as exporters write it out.

    q, k and v have four axes: batch, heads, length, size. A constant mask that hides what comes later becomes
    `is_causal`. In a row whose mask hides everything, Attention gives 0, where softmax gives NaN.
    """

    def apply(self, network: Network) -> None:
        rewriting = Rewriting(network)
        for node in rewriting.nodes:
            if kind(node) != "MatMul":
                continue
            attention = _attention(rewriting, node)
            if attention is not None:
                rewriting.replace(node, *attention)
        rewriting.finish()


def _attention(values: Rewriting, node: Node) -> list[Node] | None:
    """The nodes that do all of it, if this one multiplies the weights with v."""
    weights, v = node.inputs
    softmax = values.maker(weights, "Softmax")
    if softmax is None or softmax.operator.settings["axis"] not in (-1, 3):
        return None
    scores, mask = _scores_and_mask(values, str(softmax.inputs[0]))
    if not values.used_once(str(weights)) or not values.used_once(scores):
        return None
    scale, factors = values.product(scores)
    matmul = values.maker(factors[0], "MatMul") if len(factors) == 1 else None
    if matmul is None or not values.used_once(matmul.outputs[0]):
        return None
    q_scale, q_factors = values.product(str(matmul.inputs[0]))
    k_scale, k_factors = values.product(str(matmul.inputs[1]))
    if len(q_factors) != 1 or len(k_factors) != 1:
        return None
    q, keys = q_factors[0], _keys(values, k_factors[0])
    if keys is None or not _fit(values, q, keys[0], v):
        return None
    k, nodes = keys
    settings: dict[str, Any] = {"scale": scale * q_scale * k_scale}
    inputs: tuple[Any, ...] = (q, k, v)
    if mask is not None and _is_causal(values, mask, q, k):
        settings["is_causal"] = 1
    elif mask is not None:
        if not _mask_fits(values, mask, q, k):
            return None
        inputs = (*inputs, mask)
    return [
        *nodes,
        replace(node, operator=operator("Attention", **settings), inputs=inputs),
    ]


def _scores_and_mask(values: Rewriting, masked: str) -> tuple[str, str | None]:
    """The parts of scores + mask; only one of them comes from a product of matrices."""
    total = values.maker(masked, "Add")
    if total is None or not values.used_once(masked):
        return masked, None
    for scores, mask in values.in_any_order(total):
        _, factors = values.product(scores)
        if len(factors) == 1 and values.maker(factors[0], "MatMul"):
            return scores, mask
    return masked, None


def _keys(values: Rewriting, transposed: str) -> tuple[str, list[Node]] | None:
    """k of kᵀ, and the nodes that are needed to make it."""
    node = values.maker(transposed, "Transpose", "Reshape")
    if node is None:
        return None
    if kind(node) == "Reshape":
        return _joined_keys(values, node)
    has_four_axes = node.operator.settings["perm"] == SWAPPED
    return (str(node.inputs[0]), []) if has_four_axes else None


def _joined_keys(values: Rewriting, reshape: Node) -> tuple[str, list[Node]] | None:
    """k of a kᵀ that is made with batch and heads as one axis: (n, length, size), transposed, reshaped to four axes."""
    transpose = values.maker(reshape.inputs[0], "Transpose")
    target = reshape.inputs[1]
    after = values.shape(reshape.outputs[0])
    if (
        transpose is None
        or transpose.operator.settings["perm"] != (0, 2, 1)
        or after is None
    ):
        return None
    joined = str(transpose.inputs[0])
    if len(after) != 4 or (values.shape(joined) or ())[1:] != after[:1:-1]:
        return None
    split = (*after[:2], *after[:1:-1])
    before = values.maker(joined, "Reshape")
    if before is not None and values.shape(before.inputs[0]) == split:
        return str(before.inputs[0]), []
    if not isinstance(target, tuple) or 0 in target:
        return None
    k = values.new_name(f"{joined}.heads")
    inputs = (joined, (*target[:2], *target[:1:-1]))
    node = Node(
        values.new_name(f"{reshape.name}.heads"), reshape.operator, inputs, (k,)
    )
    values.specs[k] = Tensor(split, values.dtype(joined) or "float32")
    return k, [node]


def _fit(values: Rewriting, q: Any, k: Any, v: Any) -> bool:
    """Whether the shapes are known, and those of attention in which every head has its own keys."""
    shapes = [values.shape(x) for x in (q, k, v)]
    if any(shape is None or len(shape) != 4 for shape in shapes):
        return False
    of_q, of_k, of_v = (shape or () for shape in shapes)
    same_heads = of_q[:2] == of_k[:2] == of_v[:2]
    return same_heads and of_q[3] == of_k[3] and of_k[2] == of_v[2]


def _mask_fits(values: Rewriting, mask: str, q: str, k: str) -> bool:
    """Whether the mask has a column for every key, and broadcasts to the scores otherwise."""
    shape, of_q, of_k = values.shape(mask), values.shape(q), values.shape(k)
    if shape is None or of_q is None or of_k is None or not 2 <= len(shape) <= 4:
        return False
    wanted = (*of_q[:3], of_k[2])[-len(shape) :]
    rest = zip(shape[:-1], wanted[:-1], strict=True)
    return shape[-1] == wanted[-1] and all(size in (1, full) for size, full in rest)


def _is_causal(values: Rewriting, mask: str, q: str, k: str) -> bool:
    """Whether the mask is 0 up to the diagonal, and hides everything above it, for any batch and head."""
    constant = values.constant(mask)
    of_q, of_k = values.shape(q), values.shape(k)
    if constant is None or of_q is None or of_k is None or of_q[2] != of_k[2]:
        return False
    if (
        constant.ndim < 2
        or constant.shape[-2:] != (of_q[2], of_k[2])
        or constant.dtype.kind != "f"
    ):
        return False
    square = constant.reshape(-1, *constant.shape[-2:])
    if len(square) != 1:
        return False
    above = np.triu(np.ones(square.shape[1:], bool), 1)
    hidden = np.finfo(constant.dtype).min / 2
    return bool((square[0][~above] == 0).all() and (square[0][above] <= hidden).all())
