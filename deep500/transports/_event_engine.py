"""The engine behind virtual ranks: messages and ranks as events in the order of virtual time."""

import heapq
import math
from collections import deque
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contracts.transport import (
    COLLECTIVES,
    Arrival,
    Compute,
    Handle,
    Now,
    Overlap,
    Poll,
    RankFailure,
    Recv,
    RecvAny,
    Send,
    Wait,
    WaitAny,
    modelled_bytes,
)
from ..errors import Deep500Error
from ._blocking import (
    blocked_virtual,
    deadlock,
    described,
    ranks_waited_for,
)
from ._forms import form_of, other_form
from ._places import no_step
from ._requests import Message, PendingRequest, VirtualRank
from ._virtual_collectives import complete_collective

if TYPE_CHECKING:
    from .virtual import Virtual

# Events of one moment: messages first, then ranks, then deadlines
ARRIVAL, RESUME, TIMEOUT = 0, 1, 2


class EventEngine:
    """Runs the programs of all ranks to their ends, or to the first thing that cannot go on."""

    def __init__(self, transport: "Virtual", programs: dict[int, Generator]):
        self.transport = transport
        self.network = transport.network
        self.ranks = {}
        for rank, program in programs.items():
            clock = transport.clocks[rank]
            self.ranks[rank] = VirtualRank(rank, program, clock, transport.steps[rank])
        self.events: list[tuple[float, int, int, int, Any]] = []
        self.event_count = 0
        # receives
        self.posted: dict[int, list[PendingRequest]] = {rank: [] for rank in programs}
        self.mail: dict[int, deque[Message]] = {rank: deque() for rank in programs}
        # by number, then by rank
        self.collectives: dict[int, dict[int, PendingRequest]] = {}
        # ranks that ended before their time, and why
        self.dead: dict[int, str] = {}
        self.failures: dict[int, RankFailure] = {}
        self.noticed = False  # whether a survivor was told

    def run(self) -> dict[int, Any]:
        for rank in self.ranks.values():
            self._push(rank.clock, RESUME, rank.rank, (None, None))
        while True:
            while self.events:
                self._next_event()
            if not self._fail_someone():
                break
        if self.failures:
            raise self._failure()
        if self.dead and not self.noticed:
            names = ", ".join(map(str, self.dead))
            raise RankFailure(
                f"rank {names} is lost, and no other rank waited for it",
                [*self.dead],
            )
        self._check_all_received()
        return {number: rank.result for number, rank in self.ranks.items()}

    def close(self) -> None:
        """Keep the clocks, and end the programs that are still there."""
        for number, rank in self.ranks.items():
            self.transport.clocks[number] = rank.clock
            self.transport.steps[number] = rank.steps
            rank.program.close()

    def _push(self, time: float, kind: int, rank: int, content: Any) -> None:
        self.event_count += 1
        heapq.heappush(self.events, (time, kind, rank, self.event_count, content))

    def _next_event(self) -> None:
        time, kind, number, _, content = heapq.heappop(self.events)
        rank = self.ranks[number]
        if kind == ARRIVAL:
            self._arrive(rank, content)
        elif not rank.running:
            return
        elif kind == RESUME:
            self._resume(rank, *content)
        elif rank.blocked is not None and rank.block_number == content:
            rank.clock = time
            self._throw(rank, self._late(rank))

    # Ranks

    def _resume(
        self, rank: VirtualRank, answer: Any, error: RankFailure | None
    ) -> None:
        """Let a program do its next step."""
        self.transport.clocks[rank.rank] = rank.clock
        try:
            step = rank.program.throw(error) if error else rank.program.send(answer)
            # training outside of a Compute step takes its time, too
            rank.clock = self.transport.clocks[rank.rank]
        except StopIteration as stop:
            rank.running = False
            rank.result = stop.value
            return
        except RankFailure as failure:
            self._died(rank, str(failure))
            self.failures[rank.rank] = failure
            return
        if self.transport.kill.get(rank.rank) == rank.steps:
            self._died(rank, "it was killed")
            return
        rank.steps += 1
        self._do(rank, step)

    def _died(self, rank: VirtualRank, reason: str) -> None:
        rank.running = False
        rank.program.close()
        self.dead[rank.rank] = reason

    def _do(self, rank: VirtualRank, step: Any) -> None:
        if isinstance(step, Wait | WaitAny):
            self._block(rank, step)
            return
        if isinstance(step, Compute):
            answer: Any = self._compute(rank, step)
        elif isinstance(step, Overlap):
            answer = self._overlap(rank, step)
        elif isinstance(step, Poll):
            answer = self._poll(rank, step)
        elif isinstance(step, Now):
            answer = rank.clock
        else:
            answer = self._begin(rank, step)
        self._push(rank.clock, RESUME, rank.rank, (answer, None))

    def _begin(self, rank: VirtualRank, step: Any) -> Handle:
        if isinstance(step, Send):
            return self._send(rank, step)
        if isinstance(step, Recv | RecvAny):
            return self._receive(rank, step)
        if isinstance(step, COLLECTIVES):
            return self._collective(rank, step)
        raise no_step(rank.program, step)

    def _compute(self, rank: VirtualRank, step: Compute) -> Any:
        clocks = self.transport.clocks
        clocks[rank.rank] += self._own_seconds(rank, step)
        self.transport.charged.discard(rank.rank)
        result = step.function()
        clocks[rank.rank] += self._other_seconds(rank, step)
        rank.clock = clocks[rank.rank]
        return result

    def _overlap(self, rank: VirtualRank, step: Overlap) -> Any:
        """The function's steps begin at equal distances in virtual time."""
        start = rank.clock
        clocks = self.transport.clocks
        clocks[rank.rank] += self._own_seconds(rank, step)
        self.transport.charged.discard(rank.rank)
        begun = 0

        def begin(inner: Any) -> Handle:
            nonlocal begun
            begun += 1
            duration = clocks[rank.rank] - start
            duration += self._other_seconds(rank, step)
            rank.clock = max(rank.clock, start + duration * begun / step.count)
            return self._begin(rank, inner)

        result = step.function(begin)
        clocks[rank.rank] += self._other_seconds(rank, step)
        rank.clock = max(rank.clock, clocks[rank.rank])
        clocks[rank.rank] = rank.clock
        return result

    def _own_seconds(self, rank: VirtualRank, step: Compute | Overlap) -> float:
        """What a step says that it takes, beside the training in it."""
        seconds = step.seconds or 0.0
        if not 0 <= seconds < math.inf:
            raise Deep500Error(
                f"the program of rank {rank.rank} yielded {type(step).__name__} of {seconds:g} seconds: give 0 or more"
            )
        return seconds * self.transport.speed[rank.rank]

    def _other_seconds(self, rank: VirtualRank, step: Compute | Overlap) -> float:
        """What the transport's own `compute` adds: nothing if the step has a duration, or has trained."""
        transport = self.transport
        if step.seconds is not None or rank.rank in transport.charged:
            return 0.0
        return transport.compute * transport.speed[rank.rank]

    def _poll(self, rank: VirtualRank, step: Poll) -> list[int]:
        finished = []
        for index, handle in enumerate(step.handles):
            if rank.requests[handle].ready <= rank.clock:
                finished.append(index)
        return finished

    # Messages

    def _send(self, rank: VirtualRank, step: Send) -> Handle:
        self._check_rank(rank, step.to)
        nbytes = step.array.nbytes
        self.transport.traffic[rank.rank].count("Send", nbytes)
        start = max(rank.clock, rank.sending_free)
        rank.clock = start + self.network.o
        rank.sending_free = start + self.network.g + self.network.stream(nbytes)
        arrival = rank.clock + self.network.L
        request = PendingRequest(step, rank.clock)
        if nbytes <= self.transport.eager_bytes:
            request.ready = rank.clock
        array = step.array.copy()
        message = Message(rank.rank, step.to, step.tag, array, arrival, request)
        self._push(arrival, ARRIVAL, step.to, message)
        return rank.begin(request)

    def _receive(self, rank: VirtualRank, step: Recv | RecvAny) -> Handle:
        if isinstance(step, Recv):
            self._check_rank(rank, step.source)
        request = PendingRequest(step, rank.clock, overhead=self.network.o)
        mail = self.mail[rank.rank]
        for message in mail:
            if _matches(step, message):
                mail.remove(message)
                self._deliver(rank, request, message)
                return rank.begin(request)
        self.posted[rank.rank].append(request)
        return rank.begin(request)

    def _arrive(self, rank: VirtualRank, message: Message) -> None:
        posted = self.posted[rank.rank]
        for request in posted:
            if _matches(request.step, message):
                posted.remove(request)
                self._deliver(rank, request, message)
                self._try_to_unblock(rank)
                return
        self.mail[rank.rank].append(message)

    def _deliver(
        self, rank: VirtualRank, request: PendingRequest, message: Message
    ) -> None:
        into = request.step.into
        if into.shape != message.array.shape or into.dtype != message.array.dtype:
            channel = message.source, message.tag
            raise other_form(rank.rank, into, channel, form_of(message.array))
        np.copyto(into, message.array)
        nbytes = into.nbytes
        self.transport.traffic[rank.rank].count("Recv", nbytes)
        begin = max(message.arrival, rank.receiving_free, request.posted)
        request.ready = begin + self.network.stream(nbytes)
        rank.receiving_free = request.ready + self.network.g
        request.result = into
        if isinstance(request.step, RecvAny):
            request.result = Arrival(message.source, into)
        if not message.sending.complete:
            message.sending.ready = begin
            self._try_to_unblock(self.ranks[message.source])

    def _check_rank(self, rank: VirtualRank, other: int) -> None:
        if other == rank.rank or not 0 <= other < self.transport.size:
            raise Deep500Error(
                f"rank {rank.rank} communicates with rank {other}: give another rank from 0 to "
                f"{self.transport.size - 1}"
            )

    # Collectives

    def _collective(self, rank: VirtualRank, step: Any) -> Handle:
        nbytes = modelled_bytes(step, rank.rank, self.transport.size)
        self.transport.traffic[rank.rank].count(type(step).__name__, nbytes)
        number = rank.collectives
        rank.collectives += 1
        request = PendingRequest(step, rank.clock, sequence=number)
        handle = rank.begin(request)
        called = self.collectives.setdefault(number, {})
        called[rank.rank] = request
        if len(called) == self.transport.size:
            complete_collective(self.network, number, self.collectives.pop(number))
            for other in self.ranks.values():
                self._try_to_unblock(other)
        return handle

    # Waiting

    def _block(self, rank: VirtualRank, step: Wait | WaitAny) -> None:
        for handle in step.handles:
            if handle not in rank.requests:
                raise Deep500Error(
                    f"rank {rank.rank} waits for the handle {handle}, which it has not, or has "
                    "waited for already"
                )
        rank.blocked = step
        rank.block_number += 1
        self._try_to_unblock(rank)
        if rank.blocked is not None and step.timeout is not None:
            self._push(rank.clock + step.timeout, TIMEOUT, rank.rank, rank.block_number)

    def _try_to_unblock(self, rank: VirtualRank) -> None:
        step = rank.blocked
        if isinstance(step, Wait):
            if not rank.unfinished(step.handles):
                self._unblock(rank, self._finished(rank, step.handles))
        elif isinstance(step, WaitAny):
            ready = [rank.requests[handle].ready for handle in step.handles]
            if min(ready, default=0.0) < math.inf:
                index = ready.index(min(ready))
                [result] = self._finished(rank, [step.handles[index]])
                self._unblock(rank, (index, result))

    def _finished(self, rank: VirtualRank, handles: Any) -> list[Any]:
        """The results of complete requests; the clock moves on to when the processor has them."""
        requests = [rank.requests.pop(handle) for handle in handles]
        begin = rank.clock
        for request in sorted(requests, key=lambda request: request.ready):
            rank.clock = max(rank.clock, request.ready) + request.overhead
        self.transport.waited[rank.rank] += rank.clock - begin
        return [request.result for request in requests]

    def _unblock(self, rank: VirtualRank, answer: Any) -> None:
        rank.blocked = None
        self._push(rank.clock, RESUME, rank.rank, (answer, None))

    # Failures

    def _late(self, rank: VirtualRank) -> RankFailure:
        missing = sorted(ranks_waited_for(self, rank))
        assert rank.blocked is not None
        named = ", ".join(map(str, missing))
        return RankFailure(
            f"rank {named} did not come within {rank.blocked.timeout:g} s of virtual time: rank "
            f"{rank.rank} waited for {described(rank)}",
            missing,
        )

    def _throw(self, rank: VirtualRank, failure: RankFailure) -> None:
        self.noticed = True
        rank.blocked = None
        self._push(rank.clock, RESUME, rank.rank, (None, failure))

    def _fail_someone(self) -> bool:
        """Nothing is left to do: tell ranks that wait for a dead one; whether there was any."""
        waiting = [rank for rank in self.ranks.values() if rank.blocked is not None]
        if not waiting:
            return False
        killed = [rank for rank in self.dead if rank not in self.failures]
        for rank in waiting:
            if ranks_waited_for(self, rank) & self.dead.keys():
                names = ", ".join(map(str, killed or self.dead))
                rank.clock += self.transport.deadline
                failure = RankFailure(
                    f"rank {names} is lost: rank {rank.rank} waited for {described(rank)} until "
                    f"the deadline of {self.transport.deadline:g} s",
                    killed or [*self.dead],
                )
                self._throw(rank, failure)
                return True
        found = deadlock({rank.rank: blocked_virtual(self, rank) for rank in waiting})
        assert found is not None  # every rank here waits for another one
        raise found

    def _failure(self) -> RankFailure:
        """The failure to report: of the lowest rank that noticed."""
        return self.failures[min(self.failures)]

    def _check_all_received(self) -> None:
        for letters in self.mail.values():
            for message in letters:
                if message.to not in self.dead:
                    raise Deep500Error(
                        f"rank {message.source} sent {form_of(message.array)} to rank {message.to} "
                        f"(tag {message.tag}), which never received it"
                    )


def _matches(step: Recv | RecvAny, message: Message) -> bool:
    if step.tag != message.tag:
        return False
    return isinstance(step, RecvAny) or step.source == message.source
