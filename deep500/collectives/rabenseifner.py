"""Rabenseifner's algorithm: a reduce-scatter by halving, then an allgather by doubling, in 2 log2 P rounds."""

import numpy as np

from ..contracts.collective import Collective, combine
from ..contracts.collective_cost import CollectiveCost, piece_starts
from ..contracts.transport import Program, ReduceOp, exchange
from ._folding import Fold, folded


class Rabenseifner(Collective):
    """As few bytes as a ring, 2 (P - 1) / P of the array from every rank, in 2 log2 P rounds."""

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        def core(fold: Fold) -> Program:
            yield from self._halved(rank, fold, array, op)
            yield from self._doubled(rank, fold, array)

        yield from folded(rank, size, array, op, self.tag, core)

    def all_reduce_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        fold = Fold(size)
        starts = piece_starts(count, fold.power)
        nbytes = [starts[distance] * gamma for distance in _distances(fold)]
        core = CollectiveCost(
            messages=2 * len(nbytes),
            # all pieces but its own, and in each round of the allgather those that it has
            bytes=count * gamma - starts[1] * gamma + sum(nbytes),
            memory=nbytes[-1],
            rounds=tuple((2, length) for length in nbytes),
            reduced=sum(nbytes),
            exchanges=2 * len(nbytes),
            exchanged=2 * sum(nbytes),
        )
        return fold.cost(core, count * gamma)

    def _halved(
        self, rank: int, fold: Fold, array: np.ndarray, op: ReduceOp
    ) -> Program:
        """Give away the half that belongs to the partner, and add up the other, until one piece is left."""
        place = fold.place(rank)
        starts = piece_starts(len(array), fold.power)
        incoming = np.empty_like(array[: starts[(fold.power + 1) // 2]])
        for distance in reversed(_distances(fold)):
            partner = fold.rank(place ^ distance)
            kept = _run(array, starts, place, distance)
            given = _run(array, starts, place ^ distance, distance)
            into = incoming[: len(kept)]
            yield from exchange(partner, given, partner, into, self.tag)
            if rank < partner:
                combine(op, kept, into, out=kept)
            else:
                combine(op, into, kept, out=kept)

    def _doubled(self, rank: int, fold: Fold, array: np.ndarray) -> Program:
        """Exchange all that both have, until everyone has all."""
        place = fold.place(rank)
        starts = piece_starts(len(array), fold.power)
        for distance in _distances(fold):
            partner = fold.rank(place ^ distance)
            own = _run(array, starts, place, distance)
            others = _run(array, starts, place ^ distance, distance)
            yield from exchange(partner, own, partner, others, self.tag)


def _distances(fold: Fold) -> list[int]:
    """1, 2, 4 … P / 2."""
    return [1 << bit for bit in range(fold.power.bit_length() - 1)]


def _run(array: np.ndarray, starts: list[int], place: int, distance: int) -> np.ndarray:
    """The aligned run of `distance` pieces in which the piece of this place is."""
    first = place - place % distance
    return array[starts[first] : starts[first + distance]]
