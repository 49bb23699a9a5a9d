"""SSAR by recursive doubling (SparCML, 2019): log2 P exchanges of sparse streams, which are merged."""

from ..contracts.collective_cost import CollectiveCost
from ..contracts.sparse_stream import SparseStream
from ..contracts.transport import Program, ReduceOp, Wait
from ._fill_in import FillIn, stream_bytes
from ._folding import Fold
from ._merging import merged
from ._sparse import SparseAllReduce
from ._streams import begin_send, exchange_cost, exchange_streams, receive_stream


class SSARRecursiveDoubling(SparseAllReduce):
    """The fewest rounds: for few entries. A sum that is no longer sparse goes on as a dense one."""

    def reduced(
        self, rank: int, size: int, stream: SparseStream, op: ReduceOp
    ) -> Program:
        fold = Fold(size)
        partner = rank ^ 1
        if rank < 2 * fold.extra and rank % 2:
            sends = yield from begin_send(partner, stream, self.tag)
            yield Wait(sends)
            return (yield from receive_stream(partner, stream, self.tag))
        if rank < 2 * fold.extra:
            higher = yield from receive_stream(partner, stream, self.tag)
            stream, higher = merged(stream, higher, op), None
        stream = yield from self._butterfly(rank, fold, stream, op)
        if rank < 2 * fold.extra:
            sends = yield from begin_send(partner, stream, self.tag)
            yield Wait(sends)
        return stream

    def _butterfly(
        self, rank: int, fold: Fold, stream: SparseStream, op: ReduceOp
    ) -> Program:
        place = fold.place(rank)
        for bit in range(fold.power.bit_length() - 1):
            partner = fold.rank(place ^ 1 << bit)
            received = yield from exchange_streams(partner, stream, self.tag)
            if rank < partner:
                stream = merged(stream, received, op)
            else:
                stream = merged(received, stream, op)
            # nothing of this round is kept during the next
            del received
        return stream

    def stream_cost(
        self, size: int, count: int, entries: int, union: FillIn, gamma: float
    ) -> CollectiveCost:
        fold = Fold(size)
        # a rank of the core may stand for two ranks
        weight = 2 if fold.extra else 1
        sent = []
        for bit in range(fold.power.bit_length() - 1):
            ranks = min(size, weight << bit)
            sent.append(stream_bytes(union(ranks), count, gamma))
        cost = exchange_cost(sent)
        merged_bytes = CollectiveCost(reduced=sum(sent) * 2)
        if not fold.extra:
            return cost.then(merged_bytes)
        first = stream_bytes(entries, count, gamma)
        last = stream_bytes(union(size), count, gamma)
        # the neighbour that stays sends the result, the other one its stream
        there, back = exchange_cost([first]), exchange_cost([last])
        waited = CollectiveCost(rounds=there.rounds, spacings=there.spacings, handled=2)
        return cost.then(merged_bytes).then(waited).then(back)
