"""SSAR by split and allgather (SparCML, 2019): every rank adds up one range, and all gather the sparse sums."""

import numpy as np

from ..contracts.collective_cost import CollectiveCost, piece_lengths
from ..contracts.sparse_stream import SparseStream, joined, received_stream
from ..contracts.transport import Program, ReduceOp
from ..errors import Deep500Error
from ._fill_in import FillIn, stream_bytes
from ._sparse import SparseAllReduce
from ._split import own_range, split_cost
from ._streams import DENSE, HEADER, all_gathered, gather_cost


class SSARSplitAllGather(SparseAllReduce):
    """No entry is merged more often than needed: for more entries, as long as their sum is sparse."""

    def reduced(
        self, rank: int, size: int, stream: SparseStream, op: ReduceOp
    ) -> Program:
        own = yield from own_range(rank, size, stream, op, self.tag)
        entries = DENSE if own.is_dense else own.entries
        header = np.array([entries], np.int64).view(np.uint8)
        payload = np.concatenate([header, own.payload()])
        payloads = yield from all_gathered(rank, size, payload, self.tag)
        lengths = piece_lengths(stream.size, size)
        streams = []
        for source, length in enumerate(lengths):
            streams.append(_unpacked(payloads[source], length, own, source))
        return joined(streams)

    def stream_cost(
        self, size: int, count: int, entries: int, union: FillIn, gamma: float
    ) -> CollectiveCost:
        longest = piece_lengths(count, size)[0]
        share = longest * size / count if count else 1.0
        own = stream_bytes(union(size, size) * share, longest, gamma)
        return split_cost(size, count, union, gamma).then(
            gather_cost(size, own + HEADER)
        )


def _unpacked(
    payload: np.ndarray, length: int, like: SparseStream, source: int
) -> SparseStream:
    """The sum of one range, from the bytes of its rank."""
    [entries] = payload[:HEADER].view(np.int64).tolist()
    content = payload[HEADER:].copy()  # in memory that is aligned for any dtype
    itemsize = like.dtype.itemsize
    is_dense = entries == DENSE
    expected = length * itemsize if is_dense else entries * (itemsize + 4)
    if entries < DENSE or entries > length or content.size != expected:
        raise Deep500Error(
            f"rank {source} sent {content.size} bytes for {entries} entries of {length}"
        )
    return received_stream(content, entries, length, like.dtype)
