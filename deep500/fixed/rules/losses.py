"""The last node: a mean over the batch. Its parts are added over ranks, and `backward` is by the whole mean."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ...contracts.operator import Operator
from ...reductions.fixed_point import term_limit
from ..library import call
from ..sums import Target
from .base import FixedRule, NodePlace, Ran, Run, only


class LossRule(FixedRule):
    """`parts` adds what this rank's examples contribute to the mean."""

    def parts(self, run: Run, saved: Any, target: Target) -> None:
        raise NotImplementedError


class SoftmaxCrossEntropyLossRule(LossRule):
    def lacks(self, operator: Operator, place: NodePlace) -> str:
        if len(place.node.outputs) > 1:
            return "whose probabilities are used"
        if len(place.node.inputs) > 2:
            return "with weights of classes"
        return only(place, reduction="mean", ignore_index=None)

    def forward(self, run: Run, place: NodePlace, inputs: Sequence[Any]) -> Any:
        scores, labels = inputs
        place.operator.check(scores, labels)
        last = scores if scores.ndim == 2 else np.moveaxis(scores, 1, -1)
        rows = np.ascontiguousarray(last)
        share = 1.0 / (run.size * prod(labels.shape[1:]))
        losses = np.empty(labels.size, np.float32)
        slopes = np.empty_like(rows)
        labels = np.ascontiguousarray(labels, np.int64)
        sizes = labels.size, rows.shape[-1]
        call("cross_entropy_rows", *sizes, rows, labels, share, losses, slopes)
        return (np.zeros((), np.float32),), (losses, slopes, share)

    def parts(self, run: Run, saved: Any, target: Target) -> None:
        losses, _, share = saved
        _add_mean(losses, share, target)

    def backward(self, ran: Ran) -> Mapping[int, Any]:
        slopes = ran.saved[1]
        return {0: slopes if slopes.ndim == 2 else np.moveaxis(slopes, -1, 1)}


class ReduceMeanRule(LossRule):
    """The mean of everything."""

    def lacks(self, operator: Operator, place: NodePlace) -> str:
        if len(place.node.inputs) > 1 and place.node.inputs[1] is not None:
            return "of some axes"
        return only(place, keepdims=0)

    def forward(self, run: Run, place: NodePlace, inputs: Sequence[Any]) -> Any:
        x = np.ascontiguousarray(inputs[0])
        share = 1.0 / (run.size * prod(x.shape[1:]))
        return (np.zeros((), np.float32),), (x, share)

    def parts(self, run: Run, saved: Any, target: Target) -> None:
        x, share = saved
        _add_mean(x, share, target)

    def backward(self, ran: Ran) -> Mapping[int, Any]:
        x, share = ran.saved
        return {0: np.full(x.shape, share, np.float32)}


def _add_mean(losses: np.ndarray, share: float, target: Target) -> None:
    """Every loss by itself, as its share of the mean."""
    target.scale *= share
    target.limit = min(target.limit, term_limit(round(1 / share)))
    target.add_rows(losses.reshape(-1, 1))
