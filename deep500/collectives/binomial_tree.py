"""A binomial tree: arrays are reduced to rank 0, and the result is broadcast, in 2 log2 P rounds."""

import numpy as np

from ..contracts.collective import Collective
from ..contracts.collective_cost import CollectiveCost, rounds_to_all
from ..contracts.transport import Program, ReduceOp
from ._trees import broadcast_from, reduce_to_first


class BinomialTree(Collective):
    """Few messages in all, 2 (P - 1), of the whole array each: for short arrays, and where messages are dear."""

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        yield from reduce_to_first(rank, size, array, op, self.tag)
        yield from broadcast_from(0, rank, size, array, self.tag)

    def all_reduce_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        nbytes = count * gamma
        rounds = rounds_to_all(size)
        # rank 0 sends most, and only in the broadcast
        reduction = CollectiveCost(
            memory=nbytes, rounds=((rounds, nbytes),), reduced=rounds * nbytes
        )
        return reduction.then(self.broadcast_cost(size, count, gamma))

    def broadcast(
        self, rank: int, size: int, array: np.ndarray, root: int = 0
    ) -> Program:
        yield from broadcast_from(root, rank, size, array, self.tag)

    def broadcast_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        nbytes = count * gamma
        rounds = rounds_to_all(size)
        return CollectiveCost(rounds, rounds * nbytes, rounds=((rounds, nbytes),))
