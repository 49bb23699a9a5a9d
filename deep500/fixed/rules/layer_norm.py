"""Normalisation along the last axis."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...contracts.operator import Operator
from ..library import call
from ..sums import Part, Target
from .base import FixedRule, NodePlace, Ran, Run, only


class LayerNormalizationRule(FixedRule):
    def lacks(self, operator: Operator, place: NodePlace) -> str:
        if len(place.node.outputs) > 1:
            return "whose statistics are used"
        if {1, 2} & place.batched:
            return "with scales that depend on the batch"
        return only(place, axis=-1)

    def forward(self, run: Run, place: NodePlace, inputs: Sequence[Any]) -> Any:
        x, scale, *rest = inputs
        x = np.ascontiguousarray(x)
        rows, width = x.size // x.shape[-1], x.shape[-1]
        scale = np.ascontiguousarray(np.broadcast_to(scale, (width,)))
        bias = None
        if rest and rest[0] is not None:
            bias = np.ascontiguousarray(np.broadcast_to(rest[0], (width,)))
        y = np.empty_like(x)
        statistics = np.empty((rows, 2), np.float32)
        epsilon = float(place.operator.epsilon)
        call("layer_norm_rows", rows, width, x, scale, bias, epsilon, y, statistics)
        return (y,), (x, scale, statistics)

    def backward(self, ran: Ran) -> Mapping[int, Any]:
        if 0 not in ran.place.wanted:
            return {}
        x, scale, statistics = ran.saved
        dy = np.ascontiguousarray(ran.gradients[0])
        dx = np.empty_like(x)
        sizes = len(statistics), x.shape[-1]
        call("layer_norm_gradient_rows", *sizes, dy, x, scale, statistics, dx)
        return {0: dx}

    def collect(self, ran: Ran, position: int, part: Part, target: Target) -> None:
        x, _, statistics = ran.saved
        dy = part.rows(ran.gradients[0])
        each = len(statistics) // max(part.examples, 1)
        normal = None
        if position == 1:
            x = part.rows(x)
            normal = np.empty_like(x)
            own = part.rows(statistics)
            call("normal_rows", len(own), x.shape[-1], x, own, normal)
            normal = normal.reshape(-1, x.shape[-1])
        target.add_rows(dy.reshape(-1, dy.shape[-1]), normal, part.leaf * each)
