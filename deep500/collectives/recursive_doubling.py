"""Recursive doubling (the butterfly): log2 P exchanges of the whole array, each with a rank twice as far away."""

import numpy as np

from ..contracts.collective import Collective, combine
from ..contracts.collective_cost import CollectiveCost
from ..contracts.transport import Program, ReduceOp, exchange
from ._folding import Fold, folded


class RecursiveDoubling(Collective):
    """The fewest rounds, and log2 P times the array from every rank: for short arrays."""

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        def core(fold: Fold) -> Program:
            yield from self._butterfly(rank, fold, array, op)

        yield from folded(rank, size, array, op, self.tag, core)

    def all_reduce_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        fold = Fold(size)
        nbytes = count * gamma
        rounds = fold.power.bit_length() - 1
        core = CollectiveCost(
            messages=rounds,
            bytes=rounds * nbytes,
            memory=nbytes,
            rounds=((rounds, nbytes),),
            reduced=rounds * nbytes,
            exchanges=rounds,
            exchanged=rounds * nbytes,
        )
        return fold.cost(core, nbytes)

    def _butterfly(
        self, rank: int, fold: Fold, array: np.ndarray, op: ReduceOp
    ) -> Program:
        incoming = np.empty_like(array)
        place = fold.place(rank)
        distance = 1
        while distance < fold.power:
            partner = fold.rank(place ^ distance)
            yield from exchange(partner, array, partner, incoming, self.tag)
            if rank < partner:
                combine(op, array, incoming, out=array)
            else:
                combine(op, incoming, array, out=array)
            distance *= 2
