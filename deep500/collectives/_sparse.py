"""What sparse collectives have in common: sums of streams, and of arrays as streams."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from ..contracts.collective import Collective
from ..contracts.collective_cost import CollectiveCost, check_request
from ..contracts.sparse_stream import (
    SparseStream,
    check_numbers,
    stream_of,
)
from ..contracts.transport import Program, ReduceOp
from ..errors import Deep500Error, lacking
from ._fill_in import FillIn, stream_bytes

# a stream, its payload, a received one, their sum as long as they are together, and its dense form
COPIES = 8


class SparseCollective(Collective):
    """Reduces sparse streams. A subclass writes `reduced` and `stream_cost`."""

    cost_is_bound: ClassVar[bool] = True
    plain_sums: ClassVar[bool] = False

    def reduced(
        self, rank: int, size: int, stream: SparseStream, op: ReduceOp
    ) -> Program:
        """The reduction of all ranks' streams; of operations besides sums they are dense."""
        raise lacking(self, "reduced")

    def stream_cost(
        self, size: int, count: int, entries: int, union: FillIn, gamma: float
    ) -> CollectiveCost:
        """The cost for streams of so many entries, of which `union(m)` are left when those of m ranks are merged."""
        raise lacking(self, "stream_cost")

    def sparse_all_reduce(self, rank: int, size: int, stream: SparseStream) -> Program:
        self.check(size)
        check_numbers(stream.values, stream.indices)
        if size == 1:
            return stream
        return (yield from self.reduced(rank, size, stream, "sum"))

    def sparse_all_reduce_cost(
        self, size: int, count: int, gamma: float
    ) -> CollectiveCost:
        """The most that it may cost: that of streams without zeros."""
        return self._with_memory(size, count, count, FillIn(count, count), gamma)

    def expected_cost(
        self,
        size: int,
        count: int,
        entries: int,
        union: int | None = None,
        gamma: float = 4,
    ) -> CollectiveCost:
        """What it costs for `entries` entries on every rank, of which `union` are left when all are merged.

        Without `union` the places of the entries are independent of each other.
        """
        check_request(size, count, gamma)
        self.check(size)
        if not 0 <= entries <= count:
            raise Deep500Error(f"{entries} entries of {count}: give 0 to {count}")
        if size == 1:
            return CollectiveCost()
        filled = FillIn(count, entries)
        if union is not None:
            filled = FillIn(count, entries, size, union)
        return self._with_memory(size, count, entries, filled, gamma)

    def _with_memory(
        self, size: int, count: int, entries: int, union: FillIn, gamma: float
    ) -> CollectiveCost:
        cost = self.stream_cost(size, count, entries, union, gamma)
        longest = stream_bytes(union(size), count, gamma)
        return replace(cost, memory=max(cost.memory, COPIES * longest))


class SparseAllReduce(SparseCollective):
    """A sparse collective that gives the sum of all ranks, and so reduces arrays, too."""

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        if size == 1:
            return
        is_sum = op == "sum"
        stream = stream_of(array) if is_sum else SparseStream(len(array), array)
        result = yield from self.reduced(rank, size, stream, op)
        if result.indices is None:
            np.copyto(array, result.values)
        else:
            array[:] = 0
            array[result.indices] = result.values

    def all_reduce_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        return self.sparse_all_reduce_cost(size, count, gamma)
