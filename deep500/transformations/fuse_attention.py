from dataclasses import replace
from typing import Any, cast

import numpy as np

from ..contracts.network import Network, Node
from ..contracts.operator import TensorSpec
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
    """The nodes that replace this one, if it multiplies the weights of attention with v."""
    weights, v = node.inputs
    softmax = values.producer(weights, "Softmax")
    if softmax is None or not values.used_once(str(weights)):
        return None
    if softmax.operator.settings["axis"] not in (-1, 3):
        return None
    masked = str(softmax.inputs[0])
    scores, mask = _scores_and_mask(values, masked)
    match = _scaled_product(values, scores)
    if match is None:
        return None
    scale, q, transposed = match
    keys = _keys(values, transposed)
    if keys is None:
        return None
    k, nodes = keys
    if not _shapes_fit(values, q, k, v):
        return None
    settings: dict[str, Any] = {"scale": scale}
    inputs: tuple[Any, ...] = (q, k, v)
    if mask is not None:
        if _is_causal(values, mask, q, k):
            settings["is_causal"] = 1
        elif _mask_fits(values, mask, q, k):
            inputs = (q, k, v, mask)
        else:
            return None
    fused = replace(node, operator=operator("Attention", **settings), inputs=inputs)
    return [*nodes, fused]


def _scaled_product(values: Rewriting, scores: str) -> tuple[float, str, str] | None:
    """The scale, q and kᵀ of scores = scale q kᵀ, in which each factor may be scaled by itself."""
    if not values.used_once(scores):
        return None
    scale, factors = values.product(scores)
    if len(factors) != 1:
        return None
    matmul = values.producer(factors[0], "MatMul")
    if matmul is None or not values.used_once(matmul.outputs[0]):
        return None
    scaled_q, scaled_k = cast(tuple[str, str], matmul.inputs)
    q_scale, q_factors = values.product(scaled_q)
    k_scale, k_factors = values.product(scaled_k)
    if len(q_factors) != 1 or len(k_factors) != 1:
        return None
    total_scale = scale * q_scale * k_scale
    return total_scale, q_factors[0], k_factors[0]


def _scores_and_mask(values: Rewriting, masked: str) -> tuple[str, str | None]:
    """The parts of scores + mask, of which one comes from a matrix product; (masked, None) if there is no mask."""
    total = values.producer(masked, "Add")
    if total is None or not values.used_once(masked):
        return masked, None
    for scores, mask in values.in_any_order(total):
        _, factors = values.product(scores)
        if len(factors) == 1 and values.producer(factors[0], "MatMul"):
            return scores, mask
    return masked, None


def _keys(values: Rewriting, transposed: str) -> tuple[str, list[Node]] | None:
    """k of kᵀ, and the nodes that are needed to compute it."""
    node = values.producer(transposed, "Transpose", "Reshape")
    if node is None:
        return None
    if kind(node) == "Reshape":
        return _joined_keys(values, node)
    if node.operator.settings["perm"] != SWAPPED:
        return None
    return str(node.inputs[0]), []


def _joined_keys(values: Rewriting, reshape: Node) -> tuple[str, list[Node]] | None:
    """k of a kᵀ whose batch and heads are one axis: (n, length, size), transposed, then reshaped to four axes."""
    transpose = values.producer(reshape.inputs[0], "Transpose")
    if transpose is None:
        return None
    if transpose.operator.settings["perm"] != (0, 2, 1):
        return None
    joined = str(transpose.inputs[0])
    joined_shape = values.shape(joined) or ()
    transposed_shape = values.shape(reshape.outputs[0])
    if transposed_shape is None or len(transposed_shape) != 4:
        return None
    batch, heads, size, length = transposed_shape
    if joined_shape[1:] != (length, size):
        return None
    k_shape = (batch, heads, length, size)
    before = values.producer(joined, "Reshape")
    if before is not None:
        k = str(before.inputs[0])
        if values.shape(k) == k_shape:
            return k, []
    target = reshape.inputs[1]
    if not isinstance(target, tuple) or 0 in target:
        return None
    return _add_keys(values, reshape, joined, k_shape)


def _add_keys(
    values: Rewriting, reshape: Node, joined: str, shape: tuple[int | str, ...]
) -> tuple[str, list[Node]]:
    """k with four axes, and a new node that reshapes it from three."""
    target = cast(tuple[int, ...], reshape.inputs[1])
    batch, heads, size, length = target
    k = values.new_name(f"{joined}.heads")
    name = values.new_name(f"{reshape.name}.heads")
    inputs = (joined, (batch, heads, length, size))
    node = Node(name, reshape.operator, inputs, (k,))
    dtype = values.dtype(joined) or "float32"
    values.specs[k] = TensorSpec(shape, dtype)
    return k, [node]


def _shapes_fit(values: Rewriting, q: Any, k: Any, v: Any) -> bool:
    """Whether the shapes are known, and those of attention in which every head has its own keys."""
    shapes: list[tuple[int | str, ...]] = []
    for value in (q, k, v):
        shape = values.shape(value)
        if shape is None or len(shape) != 4:
            return False
        shapes.append(shape)
    q_shape, k_shape, v_shape = shapes
    *q_heads, _, q_size = q_shape
    *k_heads, keys, k_size = k_shape
    *v_heads, rows, _ = v_shape
    if not q_heads == k_heads == v_heads:
        return False
    return q_size == k_size and keys == rows


def _mask_fits(values: Rewriting, mask: str, q: str, k: str) -> bool:
    """Whether the mask has a column for every key, and broadcasts to the scores otherwise."""
    shape = values.shape(mask)
    q_shape = values.shape(q)
    k_shape = values.shape(k)
    if shape is None or q_shape is None or k_shape is None:
        return False
    rank = len(shape)
    if not 2 <= rank <= 4:
        return False
    scores_shape = (*q_shape[:3], k_shape[2])
    *leading, columns = scores_shape[-rank:]
    if shape[-1] != columns:
        return False
    pairs = zip(shape[:-1], leading, strict=True)
    return all(size in (1, full_size) for size, full_size in pairs)


def _is_causal(values: Rewriting, mask: str, q: str, k: str) -> bool:
    """Whether the mask is 0 up to the diagonal, and hides everything above it, for any batch and head."""
    constant = values.constant(mask)
    q_shape = values.shape(q)
    k_shape = values.shape(k)
    if constant is None or q_shape is None or k_shape is None:
        return False
    if constant.ndim < 2 or constant.dtype.kind != "f":
        return False
    length = q_shape[2]
    if k_shape[2] != length or constant.shape[-2:] != (length, length):
        return False
    squares = constant.reshape(-1, *constant.shape[-2:])
    if len(squares) != 1:
        return False
    square = squares[0]
    above = np.triu(np.ones(square.shape, bool), 1)
    visible = square[~above]
    hidden = square[above]
    limit = np.finfo(constant.dtype).min / 2
    return bool((visible == 0).all() and (hidden <= limit).all())
