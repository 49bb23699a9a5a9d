"""The first half of split-allgather algorithms: every rank adds up one range of the vector."""

from itertools import pairwise

from ..contracts.collective_cost import CollectiveCost, piece_lengths, piece_starts
from ..contracts.sparse_stream import SparseStream
from ..contracts.transport import Program, ReduceOp
from ._fill_in import FillIn, stream_bytes
from ._merging import merged_in_order
from ._streams import scatter_cost, scattered


def own_range(
    rank: int, size: int, stream: SparseStream, op: ReduceOp, tag: int
) -> Program:
    """The sum of all ranks in this rank's range, as `numpy.array_split` cuts them."""
    starts = piece_starts(stream.size, size)
    parts = []
    for start, stop in pairwise(starts):
        parts.append(stream.part(start, stop).shorter())
    received = yield from scattered(rank, size, parts, tag)
    return merged_in_order(received, op)


def split_cost(size: int, count: int, union: FillIn, gamma: float) -> CollectiveCost:
    """For entries that are spread evenly over the ranges."""
    longest = piece_lengths(count, size)[0]
    share = longest * size / count if count else 1.0
    part = stream_bytes(union(1, size) * share, longest, gamma)
    scatter = scatter_cost(size, part)
    return scatter.then(CollectiveCost(reduced=2 * (size - 1) * part))
