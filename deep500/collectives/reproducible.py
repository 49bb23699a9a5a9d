"""Sums with the same bits, whichever rank has which array and whatever carries the messages."""

from typing import ClassVar

import numpy as np

from ..contracts.collective_cost import CollectiveCost, piece_lengths
from ..contracts.dtypes import name_of
from ..contracts.reduction import ReproducibleReduction
from ..contracts.transport import Program, ReduceOp
from ..reductions.fixed_tree import FixedTree
from .direct import Direct

FLOATS = ("float16", "float32", "float64")  # bfloat16 among them


class Reproducible(Direct):
    """A direct exchange: every rank adds up one piece of all arrays, by a reproducible reduction.

    As many bytes as a ring sends, since what is exchanged are the floats themselves. FixedTree takes any numbers, and
    its sums depend on the order of the ranks; those of FixedPoint (which is fast) and PreRounded do not. Other
    operations than sums are exact. Halves are added as float32.
    """

    plain_sums: ClassVar[bool] = False

    reduction: ReproducibleReduction = FixedTree()

    def reduce_scatter(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        if op != "sum" or not name_of(array.dtype).endswith(FLOATS):
            return (yield from super().reduce_scatter(rank, size, array, op))
        pieces = np.array_split(array, size)
        own = pieces[rank]
        incoming = [np.empty_like(own) if r != rank else own for r in range(size)]
        yield from self.all_to_all(rank, size, pieces, incoming)
        if own.dtype.itemsize >= 4:
            self.reduction.sum_rows(incoming, own)
            return own
        wide = [piece.astype(np.float32) for piece in incoming]
        self.reduction.sum_rows(wide, wide[rank])
        own[...] = wide[rank].astype(own.dtype)
        return own

    def reduce_scatter_cost(
        self, size: int, count: int, gamma: float
    ) -> CollectiveCost:
        cost = super().reduce_scatter_cost(size, count, gamma)
        longest = piece_lengths(count, size)[0]
        adding = self.reduction.workspace(size, longest)
        return cost.then(CollectiveCost(memory=cost.memory + adding))
