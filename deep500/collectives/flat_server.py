"""A flat parameter server: rank 0 adds up the arrays of all others, and sends each of them the result."""

import numpy as np

from ..contracts.collective import Collective, combine
from ..contracts.collective_cost import CollectiveCost
from ..contracts.transport import Program, Recv, ReduceOp, Send, Wait, send, wait


class FlatServer(Collective):
    """Two messages in a row, and P - 1 arrays each way through the link of one rank: for two ranks, and a baseline."""

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        if rank:
            yield from send(0, array, self.tag)
        elif size > 1:
            yield from self._collected(size, array, op)
        yield from self.broadcast(rank, size, array)

    def all_reduce_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        nbytes = count * gamma
        # what the others send is no more than what the server sends
        collection = CollectiveCost(
            memory=min(2, size - 1) * nbytes,
            rounds=((1, nbytes),),
            spacings=((size - 2, nbytes, 1),),
            reduced=(size - 1) * nbytes,
        )
        return collection.then(self.broadcast_cost(size, count, gamma))

    def broadcast(
        self, rank: int, size: int, array: np.ndarray, root: int = 0
    ) -> Program:
        if rank != root:
            handle = yield Recv(root, array, self.tag)
            yield from wait(handle)
            return
        sends = []
        for other in range(size):
            if other != root:
                handle = yield Send(other, array, self.tag)
                sends.append(handle)
        yield Wait(sends)

    def broadcast_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        nbytes = count * gamma
        return CollectiveCost(
            messages=size - 1,
            bytes=(size - 1) * nbytes,
            rounds=((1, nbytes),),
            spacings=((size - 2, nbytes, 1),),
        )

    def _collected(self, size: int, array: np.ndarray, op: ReduceOp) -> Program:
        """Add up in the order of the ranks, with the next array always on its way."""
        buffers = [np.empty_like(array) for _ in range(min(2, size - 1))]
        receives: list[int] = []
        for rank in range(1, size):
            while len(receives) < min(rank + 1, size - 1):
                into = buffers[len(receives) % 2]
                handle = yield Recv(len(receives) + 1, into, self.tag)
                receives.append(handle)
            incoming = yield from wait(receives[rank - 1])
            combine(op, array, incoming, out=array)
