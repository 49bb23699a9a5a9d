"""Attention of several heads without a mask of its own."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from ...contracts.operator import Operator
from ..library import call
from .base import FixedRule, NodePlace, Ran, Run, only


class AttentionRule(FixedRule):
    def lacks(self, operator: Operator, place: NodePlace) -> str:
        node, settings = place.node, place.operator
        if (
            settings.q_num_heads is None
            or settings.q_num_heads != settings.kv_num_heads
        ):
            return "without as many heads of keys as of queries"
        if len(node.outputs) > 1 or any(x is not None for x in node.inputs[3:]):
            return "with a mask, a past, or further outputs"
        if settings.left_window_size not in (None, -1):
            return "with a window"
        if settings.right_window_size not in (None, -1):
            return "with a window"
        return only(place, softcap=0.0, softmax_precision=None, qk_matmul_output_mode=0)

    def forward(self, run: Run, place: NodePlace, inputs: Sequence[Any]) -> Any:
        q, k, v = (_packed(x) for x in inputs[:3])
        heads = place.operator.q_num_heads
        batch, queries, width = q.shape
        size, value_size = width // heads, v.shape[2] // heads
        y = np.empty((batch, queries, v.shape[2]), np.float32)
        weights = np.empty((batch, heads, queries, k.shape[1]), np.float32)
        steps = [x.strides[1] // 4 for x in (q, k, v, y)]
        causal = int(place.operator.is_causal)
        sizes = [batch, heads, queries, k.shape[1], size, value_size, *steps, causal]
        numbers = np.array(sizes, np.int64)
        scale = place.operator.scale
        scale = 1 / sqrt(size) if scale is None else float(scale)
        call("attention", numbers, scale, q, k, v, y, weights)
        return (y,), (q, k, v, weights, numbers, scale)

    def backward(self, ran: Ran) -> Mapping[int, Any]:
        q, k, v, weights, numbers, scale = ran.saved
        dy = np.ascontiguousarray(ran.gradients[0])
        # in memory as q, k and v are
        pulled = [_like(x) for x in (q, k, v)]
        call("attention_gradient", numbers, scale, dy, q, k, v, weights, *pulled)
        return dict(enumerate(pulled))


def _packed(x: np.ndarray) -> np.ndarray:
    """(batch, length, width) whose positions lie one after the other, with any distance."""
    batch, length, _ = x.shape
    step, across = x.strides[1], x.strides[2]
    is_packed = across == 4 and (batch == 1 or x.strides[0] == length * step)
    return x if is_packed else np.ascontiguousarray(x)


def _like(x: np.ndarray) -> np.ndarray:
    """An array with the strides of x."""
    batch, length, width = x.shape
    step = x.strides[1] // 4
    return np.empty((batch, length, step), np.float32)[:, :, :width]
