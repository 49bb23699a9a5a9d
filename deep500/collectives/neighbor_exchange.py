"""An exchange with the neighbors in a topology, as decentralised schemes need it."""

import numpy as np

from ..contracts.collective import Collective
from ..contracts.collective_cost import CollectiveCost
from ..contracts.topology import Topology
from ..contracts.transport import Handle, Program, Recv, Send, Wait
from ..topologies.ring import Ring


class NeighborExchange(Collective):
    """As many messages as a rank has neighbors, whatever the number of ranks."""

    topology: Topology = Ring()

    def neighbor_all_gather(self, rank: int, size: int, array: np.ndarray) -> Program:
        self.check(size)
        incoming = {}
        handles: list[Handle] = []
        for other in self._in_order(rank, size)[::-1]:
            incoming[other] = np.empty_like(array)
            handle = yield Recv(other, incoming[other], self.tag)
            handles.append(handle)
        for other in self._in_order(rank, size):
            handle = yield Send(other, array, self.tag)
            handles.append(handle)
        yield Wait(handles)
        return dict(sorted(incoming.items()))

    def neighbor_all_gather_cost(
        self, size: int, count: int, gamma: float
    ) -> CollectiveCost:
        nbytes = count * gamma
        distances = [self._distances(rank, size) for rank in range(size)]
        degree = max(map(len, distances))
        is_circulant = all(others == distances[0] for others in distances)
        # elsewhere a rank may be the last that all of its neighbors send to
        waits = degree - 1 if is_circulant else 2 * (degree - 1)
        return CollectiveCost(
            messages=degree,
            bytes=degree * nbytes,
            memory=degree * nbytes,
            rounds=((1, nbytes),),
            spacings=((waits, nbytes, 1),),
            handled=degree - 1,
            exchanges=degree,
            exchanged=degree * nbytes,
        )

    def check(self, size: int) -> None:
        self.topology.check(size)

    def _in_order(self, rank: int, size: int) -> list[int]:
        """The next rank first, so that ranks do not all send to the same one at the same time."""
        distances = self._distances(rank, size)
        return [(rank + distance) % size for distance in distances]

    def _distances(self, rank: int, size: int) -> list[int]:
        others = self.topology.neighbors(rank, size)
        return sorted((other - rank) % size for other in others)
