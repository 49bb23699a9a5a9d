"""Direct exchange: every rank sends every other one its piece at once, as with as many parameter servers as ranks."""

from collections.abc import Sequence

import numpy as np

from ..contracts.collective import Collective, combine
from ..contracts.collective_cost import CollectiveCost, piece_lengths
from ..contracts.transport import Handle, Program, Recv, ReduceOp, Send, Wait


class Direct(Collective):
    """As few bytes as a ring, and a latency of two messages: for long arrays where P - 1 messages are cheap.

    Rank r begins with rank r + 1, so that no two ranks send to the same one at the same time. A piece is added up in
    the order of the ranks.
    """

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        yield from self.reduce_scatter(rank, size, array, op)
        yield from self.all_gather(rank, size, array)

    def all_reduce_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        lengths = piece_lengths(count, size)
        scattered = self.reduce_scatter_cost(size, count, gamma)
        both = scattered.then(self.all_gather_cost(size, count, gamma))
        return CollectiveCost(
            messages=both.messages,
            # the pieces of the others, and its own one to all of them
            bytes=(count + (size - 2) * lengths[0]) * gamma,
            memory=both.memory,
            rounds=both.rounds,
            spacings=both.spacings,
            handled=both.handled,
            reduced=both.reduced,
            exchanges=both.exchanges,
            exchanged=both.exchanged,
        )

    def reduce_scatter(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        pieces = np.array_split(array, size)
        own = pieces[rank]
        incoming = [np.empty_like(own) if r != rank else own for r in range(size)]
        yield from self._exchanged(rank, size, pieces, incoming)
        total = incoming[0]
        for other in range(1, size):
            # from its own place on, in its own piece
            into = own if other >= rank else total
            combine(op, total, incoming[other], out=into)
            total = into
        return own

    def reduce_scatter_cost(
        self, size: int, count: int, gamma: float
    ) -> CollectiveCost:
        lengths = piece_lengths(count, size)
        others = (size - 1) * lengths[0] * gamma
        exchange = self.all_to_all_cost(size, count, gamma)
        return exchange.then(CollectiveCost(memory=others, reduced=others))

    def all_gather(self, rank: int, size: int, array: np.ndarray) -> Program:
        pieces = np.array_split(array, size)
        yield from self._exchanged(rank, size, [pieces[rank]] * size, pieces)

    def all_gather_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        longest = piece_lengths(count, size)[0] * gamma
        return _exchange_cost(size, longest, (size - 1) * longest)

    def all_to_all(
        self,
        rank: int,
        size: int,
        outgoing: Sequence[np.ndarray],
        incoming: Sequence[np.ndarray],
    ) -> Program:
        np.copyto(incoming[rank], outgoing[rank])
        yield from self._exchanged(rank, size, outgoing, incoming)

    def all_to_all_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        lengths = piece_lengths(count, size)
        sent = (count - lengths[-1]) * gamma
        return _exchange_cost(size, lengths[0] * gamma, sent)

    def _exchanged(
        self,
        rank: int,
        size: int,
        outgoing: Sequence[np.ndarray],
        incoming: Sequence[np.ndarray],
    ) -> Program:
        """Send and receive everything but what stays here."""
        handles: list[Handle] = []
        for distance in range(1, size):
            source = (rank - distance) % size
            handle = yield Recv(source, incoming[source], self.tag)
            handles.append(handle)
        for distance in range(1, size):
            to = (rank + distance) % size
            handle = yield Send(to, outgoing[to], self.tag)
            handles.append(handle)
        yield Wait(handles)


def _exchange_cost(size: int, longest: float, sent: float) -> CollectiveCost:
    return CollectiveCost(
        messages=size - 1,
        bytes=sent,
        rounds=((1, longest),),
        spacings=((size - 2, longest, 1),),
        # the receives of what has come while it sent
        handled=size - 2,
        exchanges=size - 1,
        exchanged=(size - 1) * longest,
    )
