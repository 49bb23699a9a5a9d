"""The exponential graph: the ranks at distances 1, 2, 4, 8 … in both directions."""

from ..contracts.topology import Topology, distinct


class Exponential(Topology):
    """About 2 log2(P) neighbors, and a spectral gap that falls with log P only."""

    def neighbors(self, rank: int, size: int) -> tuple[int, ...]:
        candidates = []
        distance = 1
        while distance < size:
            candidates.append((rank + distance) % size)
            candidates.append((rank - distance) % size)
            distance *= 2
        return distinct(rank, candidates)
