"""Messages between the ranks 0 and 1, from which latency, overhead and gap follow; other ranks only begin with them."""

from typing import Any

import numpy as np

from ...contracts.transport import Program, Recv, Send, Transport, Wait, receive, send
from ...results.collectives.data import (
    PING_PONG,
    POST,
    TRAIN,
    TRAIN_LENGTH,
    TimedCase,
)
from .subjects import CaseBuffers, OnRank

TAG = (1 << 14) + 1


class MessageOnRank(OnRank):
    """Bytes that go from rank 0 to rank 1."""

    def reset(self) -> None:
        """Messages change nothing that matters."""

    def check(self) -> str:
        self.run()
        self.after(calls=1)
        return ""


class PingPong(MessageOnRank):
    """There and back: twice L + 2 o + G (bytes - 1)."""

    def run(self) -> Any:
        self.carried_out(self._program())

    def _program(self) -> Program:
        if self.rank > 1:
            return
        other = 1 - self.rank
        if self.rank == 0:
            yield from send(other, self.array, TAG)
        yield from receive(other, self.array, TAG)
        if self.rank == 1:
            yield from send(other, self.array, TAG)


class Train(MessageOnRank):
    """Messages one behind another, and an answer to the last: all but the first take g + G (bytes - 1)."""

    def run(self) -> Any:
        self.carried_out(self._program())

    def _program(self) -> Program:
        if self.rank > 1:
            return
        other = 1 - self.rank
        answer = np.zeros(1, np.uint8)
        handles = []
        for _ in range(TRAIN_LENGTH):
            handle = yield self._step(other)
            handles.append(handle)
        yield Wait(handles)
        if self.rank == 0:
            yield from receive(other, answer, TAG)
        else:
            yield from send(other, answer, TAG)

    def _step(self, other: int) -> Send | Recv:
        if self.rank == 0:
            return Send(other, self.array, TAG)
        return Recv(other, self.array, TAG)


class Post(MessageOnRank):
    """What the processor of rank 0 does to send a message: o."""

    def run(self) -> Any:
        if self.rank == 0:
            self.carried_out(send(1, self.array, TAG))

    def after(self, calls: int) -> None:
        """Take what was sent; all ranks run the same number of programs."""
        if self.rank > 0:
            for _ in range(calls):
                self.carried_out(self._taking())

    def _taking(self) -> Program:
        if self.rank == 1:
            yield from receive(0, self.array, TAG)


def message_subject(
    case: TimedCase, transport: Transport, buffers: CaseBuffers
) -> MessageOnRank:
    kinds: dict[str, type[Any]] = {PING_PONG: PingPong, TRAIN: Train, POST: Post}
    return kinds[case.algorithm](case, transport, buffers)
