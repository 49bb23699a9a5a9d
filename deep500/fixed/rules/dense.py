"""Products with matrices of parameters, and of two stacks of matrices."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...contracts.operator import Operator
from ..namespace import NotFixed
from ..products import matmul
from ..sums import Part, Target
from .base import FixedRule, NodePlace, Ran, Run, only


class GemmRule(FixedRule):
    def lacks(self, operator: Operator, place: NodePlace) -> str:
        if 0 not in place.batched or {1, 2} & place.batched:
            return "with a batch that is not its first input"
        return only(place, alpha=1.0, beta=1.0, transA=0)

    def forward(self, run: Run, place: NodePlace, inputs: Sequence[Any]) -> Any:
        a, b, *rest = inputs
        matrix = b.T if place.operator.transB else b
        bias = rest[0] if rest else None
        if bias is not None:
            bias = np.ascontiguousarray(np.broadcast_to(bias, (1, matrix.shape[1])))
        return (matmul(a, matrix, bias),), (a, b)

    def backward(self, ran: Ran) -> Mapping[int, Any]:
        if 0 not in ran.place.wanted:
            return {}
        _, b = ran.saved
        return {0: matmul(ran.gradients[0], b if ran.place.operator.transB else b.T)}

    def collect(self, ran: Ran, position: int, part: Part, target: Target) -> None:
        dy = part.rows(ran.gradients[0])
        leaf = part.leaf * part.each(ran.gradients[0])
        if position == 2:
            target.add_rows(dy, leaf=leaf)
            return
        if ran.place.operator.transB:
            target = target.transposed((1, 0))
        target.add_products(part.rows(ran.saved[0]), dy, leaf)


class MatMulRule(FixedRule):
    def lacks(self, operator: Operator, place: NodePlace) -> str:
        if 0 not in place.batched:
            return "with a batch that is not its first input"
        return ""

    def forward(self, run: Run, place: NodePlace, inputs: Sequence[Any]) -> Any:
        a, b = inputs
        if min(a.ndim, b.ndim) < 2:
            raise NotFixed("MatMul of a vector has no kernel with fixed bits")
        if b.ndim == 2:  # one product for all rows
            rows = matmul(a.reshape(-1, a.shape[-1]), b)
            return (rows.reshape(*a.shape[:-1], b.shape[1]),), (a, b)
        return (matmul(a, b),), (a, b)

    def backward(self, ran: Ran) -> Mapping[int, Any]:
        a, b = ran.saved
        dy = ran.gradients[0]
        pulled = {}
        if 0 in ran.place.wanted and b.ndim == 2:
            rows = matmul(dy.reshape(-1, dy.shape[-1]), b.T)
            pulled[0] = rows.reshape(a.shape)
        elif 0 in ran.place.wanted:
            pulled[0] = ran.run.xp.unbroadcast(matmul(dy, b.swapaxes(-1, -2)), a.shape)
        if 1 in ran.place.wanted:
            pulled[1] = ran.run.xp.unbroadcast(matmul(a.swapaxes(-1, -2), dy), b.shape)
        return pulled

    def collect(self, ran: Ran, position: int, part: Part, target: Target) -> None:
        a, dy = part.rows(ran.saved[0]), part.rows(ran.gradients[0])
        rows = a.reshape(-1, a.shape[-1])
        leaf = part.leaf * (len(rows) // max(part.stop - part.start, 1))
        target.add_products(rows, dy.reshape(-1, dy.shape[-1]), leaf)
