"""The engine's own collectives: MPI_Allreduce, gloo's, NCCL's."""

import numpy as np

from ..contracts.collective import Collective
from ..contracts.collective_cost import CollectiveCost, piece_starts
from ..contracts.engine_cost import engine_cost
from ..contracts.transport import Program, ReduceOp, all_gather, all_reduce, broadcast


class Native(Collective):
    """The order in which values are added is the engine's; on virtual ranks it is that of the ranks.

    Nobody sees its messages: its cost is that of the algorithms that send least, on every transport.
    """

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        yield from all_reduce(array, op)

    def all_reduce_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        return engine_cost("AllReduce", size, count * gamma)

    def all_gather(self, rank: int, size: int, array: np.ndarray) -> Program:
        starts = piece_starts(len(array), size)
        piece = array[starts[rank] : starts[rank + 1]].copy()
        pieces = yield from all_gather(piece, uneven=True)
        np.concatenate(pieces, out=array)

    def all_gather_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        longest = -(-count // size)
        return engine_cost("AllGather", size, longest * gamma)

    def broadcast(
        self, rank: int, size: int, array: np.ndarray, root: int = 0
    ) -> Program:
        yield from broadcast(array, root)

    def broadcast_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        return engine_cost("Broadcast", size, count * gamma)
