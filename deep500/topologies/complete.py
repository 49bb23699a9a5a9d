"""The complete graph: everyone averages with everyone."""

from ..contracts.topology import Topology, distinct


class Complete(Topology):
    """One exchange gives every rank the average of all."""

    def neighbors(self, rank: int, size: int) -> tuple[int, ...]:
        return distinct(rank, list(range(size)))
