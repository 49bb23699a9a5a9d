"""Sums with the same bits, whichever rank has which array and whatever carries the messages."""

from typing import ClassVar

import numpy as np

from ..contracts.reduction import ReproducibleReduction
from ..contracts.transport import Program, ReduceOp
from ..reductions.fixed_point import FixedPoint
from .direct import Direct


class Reproducible(Direct):
    """A direct exchange: every rank adds up one piece of all arrays, by a reproducible reduction.

    As many bytes as a ring sends, since what is exchanged are the floats themselves. FixedPoint and PreRounded do not
    depend on the order of the ranks; FixedTree does, but not on anything else. Other operations than sums are exact.
    """

    plain_sums: ClassVar[bool] = False

    reduction: ReproducibleReduction = FixedPoint()

    def reduce_scatter(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        if op != "sum" or array.dtype.kind != "f":
            return (yield from super().reduce_scatter(rank, size, array, op))
        pieces = np.array_split(array, size)
        own = pieces[rank]
        incoming = [np.empty_like(own) if r != rank else own for r in range(size)]
        yield from self.all_to_all(rank, size, pieces, incoming)
        self.reduction.sum_rows(incoming, own)
        return own
