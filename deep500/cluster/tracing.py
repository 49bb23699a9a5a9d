"""From generator programs, as they run on MPI, to a schedule: their steps are noted, and no array is touched."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..collectives.binomial_tree import BinomialTree
from ..collectives.bruck import Bruck
from ..collectives.rabenseifner import Rabenseifner
from ..contracts.transport import (
    COLLECTIVES,
    AllReduce,
    Barrier,
    Broadcast,
    Compute,
    Program,
    Recv,
    Send,
    Wait,
    exchange,
)
from ..errors import Deep500Error, Unsupported
from .memory import check_memory
from .network import NANO, ClusterNetwork
from .schedule import (
    CALC,
    RANK,
    RECV,
    SEND,
    MessageSchedule,
    Operation,
    ScheduleBuilder,
    kinds,
)

NOTHING = np.empty(0, np.uint8)
NATIVE_TAG = 1 << 30  # of the messages of an engine's own collectives
Progress = Callable[[float, str], None]
Numbers = tuple[int, ...]  # of the operations that end a step


class RankTrace:
    """The operations of one rank: what was waited for comes before what follows it."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.last: Numbers = ()  # what the next operation waits for

    def begin(self, kind: int, size: int, peer: int = 0, tag: int = 0) -> int:
        """An operation behind all that was waited for; its number."""
        self.operations.append(Operation(kind, size, peer, tag, after=self.last))
        return len(self.operations) - 1

    def wait(self, numbers: Iterable[int]) -> None:
        waited = tuple(dict.fromkeys(numbers))
        if not waited:
            return
        for number in waited:
            # who waits for it waits for what it waited for
            if self.operations[number].after == self.last:
                self.last = waited
                return
        self.last = tuple(dict.fromkeys((*self.last, *waited)))

    def repeat(self, other: "RankTrace", tag: int) -> Numbers:
        """The operations of another trace behind all that was waited for, with this tag; those that end it."""
        first = len(self.operations)
        for kind, size, peer, _, cpu, nic, after, behind in other.operations:
            before = tuple(first + number for number in after) or self.last
            self.operations.append(
                Operation(kind, size, peer, tag, cpu, nic, before, behind)
            )
        return tuple(first + number for number in other.last)

    def work(self, nanoseconds: float) -> None:
        """A calculation, for which the program waits."""
        duration = round(nanoseconds)
        if duration:
            self.last = (self.begin(CALC, duration),)


class ProgramTracer:
    """Runs programs of one rank each without other ranks: nothing is received, and nothing is computed."""

    def __init__(self, size: int, network: ClusterNetwork):
        self.size = size
        self.network = network
        self.trace = RankTrace()
        self.array_class = _silent_class(self._combined)
        # an engine's own collectives, which are the same again and again
        self.natives: dict[tuple[Any, ...], RankTrace] = {}

    def array(self, count: int, dtype: Any) -> np.ndarray:
        """An array whose elements nobody reads: its memory is never touched."""
        return np.zeros(count, dtype).view(self.array_class)

    def run(self, rank: int, program: Program) -> list[Operation]:
        """The operations of a program."""
        self.trace = RankTrace()
        self.trace.work(self.network.call)
        self.drive(rank, program)
        return self.trace.operations

    def drive(self, rank: int, program: Program) -> None:
        """Add the steps of a program to the current trace."""
        answer: Any = None
        natives = 0
        begun: list[tuple[Numbers, Any]] = []  # by handle
        while True:
            try:
                step = program.send(answer)
            except StopIteration:
                return
            kind = type(step)
            if kind is Wait:
                waited = [begun[handle] for handle in step.handles]
                self.waited(waited)
                answer = [_result(one) for _, one in waited]
            elif kind is Compute:
                answer = step.function()
                self.trace.work((step.seconds or 0.0) * NANO)
            else:
                begun.append((self.begun(rank, step, natives), step))
                natives += kind in COLLECTIVES
                answer = len(begun) - 1

    def begun(self, rank: int, step: Any, natives: int) -> Numbers:
        """A step that was begun, as the operations that end it; `natives` collectives of the engine came before."""
        kind = type(step)
        if kind is Send:
            self._check(rank, step.to)
            nbytes = step.array.nbytes
            return (self.trace.begin(SEND, nbytes, step.to, step.tag),)
        if kind is Recv:
            self._check(rank, step.source)
            nbytes = step.into.nbytes
            return (self.trace.begin(RECV, nbytes, step.source, step.tag),)
        if kind in COLLECTIVES:
            return self._native(rank, step, NATIVE_TAG + natives)
        raise Unsupported(
            f"a program with {type(step).__name__} cannot be simulated without its arrays, since what it does next may "
            "depend on who comes first: use d5.simulate for it"
        )

    def _native(self, rank: int, step: Any, tag: int) -> Numbers:
        """The messages of an engine's own collective, beside which the program goes on."""
        array = getattr(step, "array", NOTHING)
        root = getattr(step, "root", 0)
        key = rank, type(step), array.size, array.dtype, root
        if key not in self.natives:
            own = self.trace
            self.trace = self.natives[key] = RankTrace()
            silent = self.array(array.size, array.dtype)
            self.drive(rank, native_program(rank, self.size, step, silent, tag))
            self.trace = own
        return self.trace.repeat(self.natives[key], tag)

    def waited(self, begun: Sequence[tuple[Numbers, Any]]) -> None:
        self.trace.wait([number for numbers, _ in begun for number in numbers])
        if not self.network.exchange and not self.network.exchange_byte:
            return
        sent = [step.array.nbytes for _, step in begun if isinstance(step, Send)]
        if sent and len(sent) < len(begun):  # something comes at the same time
            network = self.network
            extra = len(sent) * network.exchange + sum(sent) * network.exchange_byte
            self.trace.work(extra)

    def _combined(self, array: np.ndarray) -> None:
        """An array was combined with another one."""
        network = self.network
        self.trace.work(network.element * array.size + network.byte * array.nbytes)

    def _check(self, rank: int, other: int) -> None:
        if other == rank or not 0 <= other < self.size:
            raise Deep500Error(
                f"rank {rank} communicates with rank {other}: give another rank from 0 to {self.size - 1}"
            )


def _result(step: Any) -> Any:
    if type(step) is Recv:
        return step.into
    return getattr(step, "array", None)


def _silent_class(combined: Callable[[np.ndarray], None]) -> type[np.ndarray]:
    """A class of arrays that compute nothing, and tell how much they would have."""

    class SilentArray(np.ndarray):
        def __array_ufunc__(
            self, ufunc: Any, method: str, *inputs: Any, **settings: Any
        ) -> Any:
            out = settings.get("out", inputs)[0]
            combined(out)
            return out

        def __getitem__(self, key: Any) -> Any:
            part = super().__getitem__(key)
            if not isinstance(part, np.ndarray):
                raise Deep500Error(
                    "a program reads an element of its array, and no data are simulated: what it sends must not depend "
                    "on them"
                )
            return part

        def __setitem__(self, key: Any, value: Any) -> None:
            pass

    return SilentArray


def native_program(
    rank: int, size: int, step: Any, array: np.ndarray, tag: int
) -> Program:
    """An engine's own collective, by an algorithm that is good for arrays of every length."""
    if size == 1:
        return
    if isinstance(step, Barrier):
        yield from _dissemination(rank, size, np.empty(1, np.uint8), tag)
    elif isinstance(step, AllReduce):
        yield from Rabenseifner(tag=tag).all_reduce(rank, size, array)
    elif isinstance(step, Broadcast):
        yield from BinomialTree(tag=tag).broadcast(rank, size, array, step.root)
    else:
        gathered = np.empty(array.size * size, array.dtype).view(type(array))
        yield from Bruck(tag=tag).all_gather(rank, size, gathered)


def _dissemination(rank: int, size: int, array: np.ndarray, tag: int) -> Program:
    distance = 1
    while distance < size:
        incoming = np.empty_like(array)
        to, source = (rank + distance) % size, (rank - distance) % size
        yield from exchange(to, array, source, incoming, tag)
        distance *= 2


def rotated_schedule(
    program: Callable[[ProgramTracer, int], Program],
    size: int,
    network: ClusterNetwork,
    subject: str,
) -> MessageSchedule:
    """The schedule of ranks that all do what rank 0 does, with every other rank shifted."""
    tracer = ProgramTracer(size, network)
    builder = ScheduleBuilder()
    builder.add_rank(tracer.run(0, program(tracer, 0)))
    first = builder.schedule()
    count, edges = len(first.nodes), len(first.edges)
    check_memory(subject, size, size * count, size * edges)
    nodes = np.tile(first.nodes, (size, 1))
    to_others = kinds(first.nodes) != CALC
    peers = first.nodes["peer"][to_others].astype(np.int64)
    for rank in range(size):
        nodes["peer"][rank, to_others] = (peers + rank) % size
    rows = np.zeros(size, RANK)
    rows["node"] = np.arange(size) * count
    rows["nodes"] = count
    rows["edge"] = np.arange(size) * edges
    rows["edges"] = edges
    return MessageSchedule(nodes.reshape(-1), np.tile(first.edges, size), rows)


def traced_schedule(
    programs: Callable[[ProgramTracer, int], Program],
    size: int,
    network: ClusterNetwork,
    subject: str,
    progress: Progress | None = None,
) -> MessageSchedule:
    """The schedule of all ranks' programs; raises a Deep500Error before more memory is taken than there is."""
    builder = ScheduleBuilder()
    tracer = ProgramTracer(size, network)
    for rank in range(size):
        operations = tracer.run(rank, programs(tracer, rank))
        if rank == 0:
            edges = sum(len(operation.after) for operation in operations)
            # arrays of ranks are put together in the end: twice
            check_memory(
                subject, size, 2 * size * len(operations), 2 * size * max(edges, 1)
            )
        builder.add_rank(operations)
        if progress is not None:
            progress((rank + 1) / size, f"rank {rank + 1:,} of {size:,}")
    return builder.schedule()
