"""A ring: a reduce-scatter, then an allgather, in 2 (P - 1) rounds with the neighbours only."""

import numpy as np

from ..contracts.collective import Collective
from ..contracts.transport import Program, ReduceOp, exchange

COMBINE = {"sum": np.add, "max": np.maximum, "min": np.minimum}


class Ring(Collective):
    """Sends 2 (P - 1) / P of the array from every rank, in pieces as `numpy.array_split` cuts them.

    A piece is summed along the ring from its owner on: an order that depends on the piece and on P, and on nothing
    else, so that all transports give the same bits.
    """

    first_tag: int = 1 << 16

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        pieces = np.array_split(array, size)  # views of the array
        right = (rank + 1) % size
        left = (rank - 1) % size
        combine = COMBINE[op]
        incoming = np.empty_like(pieces[0])  # the first piece is a longest one
        for turn in range(size - 1):
            outgoing = pieces[(rank - turn) % size]
            piece = pieces[(rank - turn - 1) % size]
            into = incoming[: len(piece)]
            yield from exchange(right, outgoing, left, into, self.first_tag + turn)
            combine(piece, into, out=piece)
        for turn in range(size - 1):
            outgoing = pieces[(rank + 1 - turn) % size]
            piece = pieces[(rank - turn) % size]
            yield from exchange(
                right, outgoing, left, piece, self.first_tag + size + turn
            )
