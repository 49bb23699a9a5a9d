"""Records what virtual ranks do while they train, as a schedule that can be simulated on any cluster."""

from collections.abc import Callable, Mapping
from typing import Any

from ..cluster.network import NANO, ClusterNetwork
from ..cluster.schedule import MessageSchedule, ScheduleBuilder
from ..cluster.tracing import Numbers, ProgramTracer, RankTrace
from ..contracts.loggp import LogGP
from ..contracts.transport import (
    COLLECTIVES,
    Compute,
    Handle,
    Overlap,
    Program,
    RankFailure,
    Recv,
    RecvAny,
)
from ..transports._event_engine import EventEngine
from ..transports._requests import Message, PendingRequest, VirtualRank
from ..transports.virtual import Virtual
from .trainer import DistributedTrainer


class RecordedVirtual(Virtual):
    """Virtual ranks whose operations are kept while `recording` is set."""

    def __init__(
        self,
        size: int,
        network: ClusterNetwork,
        loggp: LogGP,
        example: float = 0.0,
        update: float = 0.0,
    ):
        super().__init__(size, loggp, compute=example, example=example, update=update)
        self.tracer = ProgramTracer(size, network)
        self.traces = [RankTrace() for _ in range(size)]
        self.natives = [0] * size
        self.recording = False

    def run(self, program: Callable[[int], Program]) -> dict[int, Any]:
        if not self.recording:
            return super().run(program)
        programs = {rank: program(rank) for rank in self.ranks}
        engine = RecordingEngine(self, programs)
        try:
            return engine.run()
        finally:
            engine.close()

    def schedule(self) -> MessageSchedule:
        """What was recorded."""
        builder = ScheduleBuilder()
        for trace in self.traces:
            builder.add_rank(trace.operations)
        return builder.schedule()


class RecordedTrainer(DistributedTrainer):
    """Training whose epochs are recorded; evaluation and statistics are not."""

    transport: RecordedVirtual

    def run_programs(self, program: Any) -> dict[int, Any]:
        self.transport.recording = program == self.scheme.epoch
        try:
            return super().run_programs(program)
        finally:
            self.transport.recording = False


class RecordingEngine(EventEngine):
    """The engine of virtual ranks, which also notes every operation and what its rank had waited for before."""

    transport: RecordedVirtual

    def __init__(self, transport: RecordedVirtual, programs: Mapping[int, Program]):
        super().__init__(transport, dict(programs))
        # by rank and handle
        self.begun_steps: dict[tuple[int, Handle], tuple[Numbers, Any]] = {}
        self.numbers_of: dict[int, tuple[int, int]] = {}  # of the receives from anyone
        self.noted = {number: rank.clock for number, rank in self.ranks.items()}

    def _note_work(self, rank: VirtualRank) -> None:
        """What a rank's clock went on by, and no communication did."""
        seconds = rank.clock - self.noted[rank.rank]
        self.transport.traces[rank.rank].work(seconds * NANO)
        self.noted[rank.rank] = rank.clock

    def _do(self, rank: VirtualRank, step: Any) -> None:
        self._note_work(rank)
        super()._do(rank, step)

    def _compute(self, rank: VirtualRank, step: Compute) -> Any:
        result = super()._compute(rank, step)
        self._note_work(rank)
        return result

    def _overlap(self, rank: VirtualRank, step: Overlap) -> Any:
        result = super()._overlap(rank, step)
        self._note_work(rank)
        return result

    def _begin(self, rank: VirtualRank, step: Any) -> Handle:
        self._note_work(rank)
        transport, tracer = self.transport, self.transport.tracer
        tracer.trace = transport.traces[rank.rank]
        noted = step
        if isinstance(step, RecvAny):
            # whoever comes: `_deliver` says who it was
            other = (rank.rank + 1) % transport.size
            noted = Recv(other, step.into, step.tag)
        numbers = tracer.begun(rank.rank, noted, transport.natives[rank.rank])
        transport.natives[rank.rank] += isinstance(step, COLLECTIVES)
        if isinstance(step, RecvAny):
            self.numbers_of[id(step)] = rank.rank, numbers[0]
        handle = super()._begin(rank, step)
        self.begun_steps[rank.rank, handle] = numbers, step
        self.noted[rank.rank] = rank.clock
        return handle

    def _deliver(
        self, rank: VirtualRank, request: PendingRequest, message: Message
    ) -> None:
        place = self.numbers_of.pop(id(request.step), None)
        if place is not None:
            owner, number = place
            operations = self.transport.traces[owner].operations
            operations[number] = operations[number]._replace(peer=message.source)
        super()._deliver(rank, request, message)

    def _finished(self, rank: VirtualRank, handles: Any) -> list[Any]:
        results = super()._finished(rank, handles)
        tracer = self.transport.tracer
        tracer.trace = self.transport.traces[rank.rank]
        waited = [self.begun_steps.pop((rank.rank, handle)) for handle in handles]
        tracer.waited(waited)
        self.noted[rank.rank] = rank.clock
        return results

    def _throw(self, rank: VirtualRank, failure: RankFailure) -> None:
        super()._throw(rank, failure)
        self.noted[rank.rank] = rank.clock
