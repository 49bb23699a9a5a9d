"""A ring: a reduce-scatter, then an allgather, in 2 (P - 1) rounds with the neighbours only."""

from dataclasses import replace

import numpy as np

from ..contracts.collective import Collective, combine
from ..contracts.collective_cost import CollectiveCost, piece_lengths
from ..contracts.transport import Program, ReduceOp, exchange


class Ring(Collective):
    """Sends 2 (P - 1) / P of the array from every rank, in pieces as `numpy.array_split` cuts them.

    A piece is summed along the ring from its owner on: an order that depends on the piece and on P, and on nothing
    else, so that all transports give the same bits.
    """

    def rotates(self, operation: str, size: int, count: int) -> bool:
        return count % size == 0  # all pieces are as long

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        held = yield from self._reduced(rank, size, array, op, first=rank)
        yield from self._gathered(rank, size, array, held)

    def all_reduce_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        # a rank never sends the pieces of its two next neighbours, each in one half
        lengths = piece_lengths(count, size)
        unsent = min(
            lengths[(rank + 1) % size] + lengths[(rank + 2) % size]
            for rank in range(size)
        )
        half = _cost(size, count, gamma)
        return CollectiveCost(
            messages=2 * half.messages,
            bytes=(2 * count - unsent) * gamma,
            memory=half.memory,
            rounds=half.rounds * 2,
            reduced=half.reduced,
            exchanges=2 * half.exchanges,
            exchanged=2 * half.exchanged,
        )

    def reduce_scatter(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        yield from self._reduced(rank, size, array, op, first=rank - 1)
        return np.array_split(array, size)[rank]

    def reduce_scatter_cost(
        self, size: int, count: int, gamma: float
    ) -> CollectiveCost:
        return _cost(size, count, gamma)

    def all_gather(self, rank: int, size: int, array: np.ndarray) -> Program:
        yield from self._gathered(rank, size, array, rank)

    def all_gather_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        half = _cost(size, count, gamma)
        return replace(half, memory=0, reduced=0)

    def _reduced(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp, first: int
    ) -> Program:
        """Reduce one piece on every rank; this rank's `first` piece goes on its way first. The value is the piece."""
        if size == 1:
            return 0
        pieces = np.array_split(array, size)  # views of the array
        incoming = np.empty_like(pieces[0])  # the first piece is a longest one
        for turn in range(size - 1):
            outgoing = pieces[(first - turn) % size]
            piece = pieces[(first - turn - 1) % size]
            into = incoming[: len(piece)]
            yield from self._pass_on(rank, size, outgoing, into)
            combine(op, piece, into, out=piece)
        return (first + 1) % size

    def _gathered(self, rank: int, size: int, array: np.ndarray, held: int) -> Program:
        """Pass all pieces on, beginning with the one that this rank holds."""
        pieces = np.array_split(array, size)
        for turn in range(size - 1):
            outgoing = pieces[(held - turn) % size]
            piece = pieces[(held - turn - 1) % size]
            yield from self._pass_on(rank, size, outgoing, piece)

    def _pass_on(
        self, rank: int, size: int, outgoing: np.ndarray, into: np.ndarray
    ) -> Program:
        right, left = (rank + 1) % size, (rank - 1) % size
        yield from exchange(right, outgoing, left, into, self.tag)


def _cost(size: int, count: int, gamma: float) -> CollectiveCost:
    """Of the reduce-scatter, and of the allgather without buffers and sums."""
    lengths = piece_lengths(count, size)
    longest = lengths[0] * gamma
    return CollectiveCost(
        messages=size - 1,
        bytes=(count - lengths[-1]) * gamma,
        memory=longest,
        rounds=((size - 1, longest),),
        reduced=(size - 1) * longest,
        exchanges=size - 1,
        exchanged=(size - 1) * longest,
    )
