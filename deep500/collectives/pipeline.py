"""A pipeline: segments of the array pass along a chain of ranks, one behind another."""

import math

import numpy as np

from ..contracts.collective import Collective, combine
from ..contracts.collective_cost import CollectiveCost, piece_lengths
from ..contracts.transport import Handle, Program, Recv, ReduceOp, Send, Wait, wait
from ..errors import Deep500Error


class Pipeline(Collective):
    """Twice the array from every rank at most, and a latency of P - 1 segments each way: for long arrays and few ranks.

    The segments are added up on their way to rank 0, and the results go back the same way. A segment has up to
    `segment_bytes`.
    """

    segment_bytes: int = 1 << 18

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.segment_bytes < 1:
            raise Deep500Error(
                f"segment_bytes of Pipeline is {self.segment_bytes}: give 1 or more"
            )

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        if size > 1:
            yield from self._reduced(rank, size, array, op)
            yield from self._passed_on(rank, size, array, 0)

    def all_reduce_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        way = self.broadcast_cost(size, count, gamma)
        segments, longest = self._cut(count, gamma)
        reduction = CollectiveCost(
            # between two others, a rank sends both ways
            messages=way.messages if size > 2 else 0,
            bytes=way.bytes if size > 2 else 0,
            memory=min(2, segments) * longest,
            rounds=way.rounds,
            spacings=way.spacings,
            reduced=(size - 2 + segments) * longest,
        )
        return reduction.then(way)

    def broadcast(
        self, rank: int, size: int, array: np.ndarray, root: int = 0
    ) -> Program:
        if size > 1:
            yield from self._passed_on(rank, size, array, root)

    def broadcast_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        segments, longest = self._cut(count, gamma)
        handled = 1 if size == 2 else 2
        return CollectiveCost(
            messages=segments,
            bytes=count * gamma,
            rounds=((size - 1, longest),),
            spacings=((segments - 1, longest, handled),),
        )

    def _reduced(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp
    ) -> Program:
        """Add up on the way to rank 0, with the next segment always on its way."""
        parts = self._segments(array)
        buffers = [np.empty_like(part) for part in parts[:2]]
        has_source = rank + 1 < size
        receives: list[Handle] = []
        sends = []
        for number, part in enumerate(parts):
            if has_source:
                for ahead in parts[len(receives) : number + 2]:
                    into = buffers[len(receives) % 2][: len(ahead)]
                    receive = yield Recv(rank + 1, into, self.tag)
                    receives.append(receive)
                incoming = yield from wait(receives[number])
                combine(op, part, incoming, out=part)
            if rank:
                handle = yield Send(rank - 1, part, self.tag)
                sends.append(handle)
        yield Wait(sends)

    def _passed_on(self, rank: int, size: int, array: np.ndarray, root: int) -> Program:
        """Pass the root's array on, segment by segment."""
        place = (rank - root) % size
        before, behind = (rank - 1) % size, (rank + 1) % size
        parts = self._segments(array)
        receives: list[Handle] = []
        if place:
            for part in parts:
                handle = yield Recv(before, part, self.tag)
                receives.append(handle)
        sends = []
        for number, part in enumerate(parts):
            if receives:
                yield from wait(receives[number])
            if place + 1 < size:
                handle = yield Send(behind, part, self.tag)
                sends.append(handle)
        yield Wait(sends)

    def _segments(self, array: np.ndarray) -> list[np.ndarray]:
        segments, _ = self._cut(len(array), array.itemsize)
        return np.array_split(array, segments)

    def _cut(self, count: int, gamma: float) -> tuple[int, float]:
        """How many segments there are, and the bytes of the longest."""
        wanted = math.ceil(count * gamma / self.segment_bytes)
        segments = max(1, min(count, wanted))
        return segments, piece_lengths(count, segments)[0] * gamma
