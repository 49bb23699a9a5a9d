"""DSAR by split and allgather (SparCML, 2019): sparse streams to the owners of ranges, and dense sums back."""

import zlib

import numpy as np

from ..contracts.codec import Codec, Key
from ..contracts.collective_cost import CollectiveCost, piece_lengths
from ..contracts.sparse_stream import SparseStream
from ..contracts.transport import Program, ReduceOp
from ..errors import Deep500Error
from ._fill_in import FillIn
from ._sparse import SparseAllReduce
from ._split import own_range, split_cost
from ._streams import all_gathered, gather_cost


class DSARSplitAllGather(SparseAllReduce):
    """For sums that are not sparse. `codec` makes the dense half shorter: QSGD(bits=4), for one.

    The noise of a codec is the same on all ranks, and nobody adds it to the next gradient: take an unbiased one.
    """

    codec: Codec | None = None

    @property
    def lossy(self) -> bool:
        return self.codec is not None

    def reduced(
        self, rank: int, size: int, stream: SparseStream, op: ReduceOp
    ) -> Program:
        own = yield from own_range(rank, size, stream, op, self.tag)
        payload = self._encoded(own.dense(), rank, size)
        payloads = yield from all_gathered(rank, size, payload, self.tag)
        pieces = []
        for source, length in enumerate(piece_lengths(stream.size, size)):
            pieces.append(self._decoded(payloads[source], length, own, source))
        return SparseStream(stream.size, np.concatenate(pieces))

    def stream_cost(
        self, size: int, count: int, entries: int, union: FillIn, gamma: float
    ) -> CollectiveCost:
        longest = piece_lengths(count, size)[0]
        own = longest * gamma
        if self.codec is not None:
            own = self.codec.wire_bytes(longest, np.dtype(f"f{round(gamma)}"))
        return split_cost(size, count, union, gamma).then(gather_cost(size, own))

    def check(self, size: int) -> None:
        if self.codec is not None and not self.codec.unbiased:
            raise Deep500Error(
                f"DSARSplitAllGather(codec={self.codec}): its loss would never be sent, and it is not unbiased; give "
                "QSGD(bits=4), or none"
            )

    def _encoded(self, piece: np.ndarray, rank: int, size: int) -> np.ndarray:
        if self.codec is None:
            return piece.view(np.uint8)
        # other random numbers for other sums: noise that repeats itself would not average out
        key = Key(0, zlib.crc32(piece.data), rank, size, "dense sum")
        return self.codec.encoded(piece, key)

    def _decoded(
        self, payload: np.ndarray, length: int, like: SparseStream, source: int
    ) -> np.ndarray:
        content = payload.copy()  # in memory that is aligned for any dtype
        if self.codec is not None:
            return self.codec.decoded(content, length, like.dtype)
        if content.size != length * like.dtype.itemsize:
            raise Deep500Error(
                f"rank {source} sent {content.size} bytes for {length} elements"
            )
        return content.view(like.dtype)
