"""A ring: the rank before and the rank behind."""

from ..contracts.topology import Topology, distinct


class Ring(Topology):
    """Two neighbors (one if there are two ranks); the spectral gap falls with the square of the number of ranks."""

    def neighbors(self, rank: int, size: int) -> tuple[int, ...]:
        return distinct(rank, [(rank - 1) % size, (rank + 1) % size])
