"""The transport contract: communication steps, and the transports that carry them out.

A program is a generator, one for each rank. It yields the steps below and is sent their answers; it does not depend on
whether MPI, torch.distributed or the virtual ranks of one process carry them out. Programs compose with `yield from`.

    handle = yield Send(to, array)            begins to send; do not change the array before waiting for the handle
    handle = yield Recv(source, into)         begins to receive into an array, which sets shape and dtype
    handle = yield RecvAny(into)              the same, from whichever rank sends first
    handle = yield AllReduce(array)           a collective of the engine's own, which all ranks call in the same order
    results = yield Wait([handle, …])         waits for all of them, with a deadline
    index, result = yield WaitAny([…])        waits for the first one
    finished = yield Poll([…])                returns, without waiting, the indices of the complete ones
    value = yield Compute(function)           runs a function; on virtual ranks it takes virtual time
    value = yield Overlap(function, count)    runs a function that begins communication steps while it computes
    seconds = yield Now()                     the clock of this rank

The result of a Send or a Barrier is None, of a RecvAny an Arrival, of an AllGather the arrays of all ranks, and of
anything else the array that was received or reduced (the one that the step named, changed in place).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from ..errors import Deep500Error

# seconds that a wait takes at most, unless its step has a timeout
DEADLINE = 60.0
Handle = int
Program = Generator[Any, Any, Any]
ReduceOp = Literal["sum", "max", "min"]


@dataclass(frozen=True, eq=False)
class Send:
    """Send an array to a rank; messages with the same tag between two ranks arrive in order.

    `announced` says that a message before it has told how long it is: real ranks then do not compare its form with what
    the receiver expects, which takes a round trip for every new one.
    """

    to: int
    array: np.ndarray
    tag: int = 0
    announced: bool = False

    def __post_init__(self) -> None:
        _check_array(self, self.array)


@dataclass(frozen=True, eq=False)
class Recv:
    """Receive an array of the shape and dtype of `into`, into it; `announced` as in the Send."""

    source: int
    into: np.ndarray
    tag: int = 0
    announced: bool = False

    def __post_init__(self) -> None:
        _check_array(self, self.into)


@dataclass(frozen=True, eq=False)
class RecvAny:
    """Receive an array from any rank; the result is an Arrival."""

    into: np.ndarray
    tag: int = 0

    def __post_init__(self) -> None:
        _check_array(self, self.into)


@dataclass(frozen=True, eq=False)
class Arrival:
    """The array that a RecvAny received, and the rank that sent it."""

    source: int
    array: np.ndarray


@dataclass(frozen=True, eq=False)
class AllReduce:
    """Replace the array by the sum (maximum, minimum) of all ranks' arrays.

    It may be a tensor of PyTorch's on a device, where the transport `carries` these.
    """

    array: Any  # np.ndarray or torch.Tensor
    op: ReduceOp = "sum"

    def __post_init__(self) -> None:
        if not is_on_device(self.array):
            _check_array(self, self.array)


@dataclass(frozen=True, eq=False)
class Broadcast:
    """Replace the array by the root's."""

    array: np.ndarray
    root: int = 0

    def __post_init__(self) -> None:
        _check_array(self, self.array)


@dataclass(frozen=True, eq=False)
class AllGather:
    """The arrays of all ranks, in the order of the ranks. With `uneven`, their lengths may differ (one dimension).

    As in an AllReduce, it may be a tensor on a device; not with `uneven`, as the host would need the lengths.
    """

    array: Any  # np.ndarray or torch.Tensor
    uneven: bool = False

    def __post_init__(self) -> None:
        if self.uneven or not is_on_device(self.array):
            _check_array(self, self.array)


@dataclass(frozen=True, eq=False)
class Barrier:
    """Wait until every rank has reached this step."""


@dataclass(frozen=True, eq=False)
class Wait:
    """Wait for all handles; the answer is the list of their results. `timeout` replaces the transport's deadline."""

    handles: Sequence[Handle]
    timeout: float | None = None

    def __post_init__(self) -> None:
        _check_handles(self, self.handles)


@dataclass(frozen=True, eq=False)
class WaitAny:
    """Wait until one of the handles is complete; the answer is its index and its result."""

    handles: Sequence[Handle]
    timeout: float | None = None

    def __post_init__(self) -> None:
        _check_handles(self, self.handles)


@dataclass(frozen=True, eq=False)
class Poll:
    """The answer is the list of indices of those handles that are complete and not waited for."""

    handles: Sequence[Handle]

    def __post_init__(self) -> None:
        _check_handles(self, self.handles)


@dataclass(frozen=True, eq=False)
class Compute:
    """Run a function; the answer is its result.

    `seconds` is its time on virtual ranks, beside that of backprop and updates in it, which the transport knows. None:
    the transport's `compute`, or nothing for a function that trains.
    """

    function: Callable[[], Any]
    seconds: float | None = None

    def __post_init__(self) -> None:
        _check_function(self, self.function)


@dataclass(frozen=True, eq=False)
class Overlap:
    """Run a function that begins communication while it computes; the answer is its result.

    The function is called with `begin`, which takes a step and returns its handle. It begins `count` steps. On virtual
    ranks, which cannot observe when that happens, they begin at equal intervals, the last one at the end.
    """

    function: Callable[[Callable[[Any], Handle]], Any]
    count: int
    seconds: float | None = None

    def __post_init__(self) -> None:
        _check_function(self, self.function)


ON_DEVICE = (
    ", which is on a device: engines such as NCCL have no such step, and only AllReduce and an AllGather of equal "
    "lengths stay there"
)


@dataclass(frozen=True, eq=False)
class Now:
    """The seconds of this rank's clock."""


def is_on_device(value: object) -> bool:
    """Whether it is a tensor of PyTorch's in another memory than the host's."""
    if type(value).__module__ != "torch":
        return False
    return value.device.type != "cpu"  # type: ignore[attr-defined]


def _check_array(step: object, value: object) -> None:
    if not isinstance(value, np.ndarray):
        raise Deep500Error(
            f"{type(step).__name__} takes a NumPy array, and {type(value).__name__} was given"
            f"{ON_DEVICE if is_on_device(value) else ''}"
        )


def _check_function(step: object, value: object) -> None:
    if not callable(value):
        raise Deep500Error(
            f"{type(step).__name__} takes a function, and {type(value).__name__} was given: write it without "
            "calling it, as in Compute(worker.backprop)"
        )


def _check_handles(step: object, value: object) -> None:
    if not isinstance(value, Sequence):
        raise Deep500Error(
            f"{type(step).__name__} takes a list of handles, and {type(value).__name__} was given: write [handle]"
        )


COLLECTIVES = (AllReduce, Broadcast, AllGather, Barrier)


class JointFailure(Deep500Error):
    """A failure that several ranks find at once; one of them reports it, `reported_by` (None: each for itself)."""

    reported_by: int | None = None


class RankFailure(JointFailure):
    """A rank died, hangs or never started; `ranks` are those that are missing."""

    def __init__(self, message: str, ranks: Sequence[int] = ()):
        super().__init__(message)
        self.ranks = tuple(ranks)


class OtherRankFailed(RankFailure):
    """Another rank has ended with an error of its own, which is the message."""


class Deadlock(JointFailure):
    """All ranks wait for each other; `cycle` is the ring of ranks in which each waits for the next."""

    def __init__(self, message: str, cycle: Sequence[int] = ()):
        super().__init__(message)
        self.cycle = tuple(cycle)


class CollectiveMismatch(JointFailure):
    """Ranks call different collectives, or the same one with different arrays."""


class MessageMismatch(JointFailure):
    """A rank has sent a message of another form than its receiver expects."""


def modelled_bytes(step: Any, rank: int, size: int) -> int:
    """The bytes that a rank sends in a collective of the engine's own, whose messages nobody sees.

    They are those of the algorithms that send least, for n bytes on each of P ranks: an allreduce is a reduce-scatter
    and an allgather, 2 n (P - 1) / P; an allgather passes n on to all others, n (P - 1); a broadcast is a scatter by
    the root and an allgather, n (P - 1) / P and as much again on the root; a barrier sends none.
    """
    if isinstance(step, Barrier):
        return 0
    nbytes = step.array.nbytes
    if isinstance(step, AllGather):
        return nbytes * (size - 1)
    is_twice = isinstance(step, AllReduce) or step.root == rank
    pieces = 2 if is_twice else 1
    return math.ceil(pieces * nbytes * (size - 1) / size)


@dataclass
class Traffic:
    """Messages and bytes by the kind of step: counted for Send and Recv, modelled for the engine's collectives."""

    messages: dict[str, int] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)

    def count(self, kind: str, nbytes: int) -> None:
        """Add one message of so many bytes."""
        self.messages[kind] = self.messages.get(kind, 0) + 1
        self.bytes[kind] = self.bytes.get(kind, 0) + nbytes

    @property
    def sent_bytes(self) -> int:
        """All bytes that this rank has sent to other ranks."""
        return _sent(self.bytes)

    @property
    def modelled_bytes(self) -> int:
        """Of these, the bytes of collectives, which the engine sends by an algorithm of its own."""
        return self.sent_bytes - self.bytes.get("Send", 0)

    @property
    def sent_messages(self) -> int:
        return _sent(self.messages)

    def to_json(self) -> dict[str, dict[str, int]]:
        """Messages and bytes by kind, for a bundle."""
        return {"messages": dict(self.messages), "bytes": dict(self.bytes)}


def _sent(counts: Mapping[str, int]) -> int:
    return sum(count for kind, count in counts.items() if kind != "Recv")


class Transport(ABC):
    """Carries out programs. A subclass declares which ranks are in this process, and runs them.

    name        The name by which users select it.
    size        The number of all ranks.
    ranks       The ranks of this process: one, or all of them for virtual ranks.
    traffic     What each rank of this process has sent and received so far.
    waited      Seconds for which each rank of this process has waited for others so far.
    deadline    Seconds after which a wait ends in a RankFailure that names the missing ranks.
    called      The collectives of the last program, in words, on ranks with processes of their own.
    """

    name: ClassVar[str]
    size: int
    ranks: tuple[int, ...]
    traffic: dict[int, Traffic]
    waited: dict[int, float]
    deadline: float = DEADLINE
    called: Sequence[str] = ()

    @abstractmethod
    def run(self, program: Callable[[int], Program]) -> dict[int, Any]:
        """Run the program of every rank of this process to its end; returns their results by rank."""

    @abstractmethod
    def clock(self, rank: int) -> float:
        """The seconds of a rank's clock, virtual or real."""

    def carries(self, device: str) -> bool:
        """Whether an AllReduce and an AllGather take tensors on a device, such as "cuda:0", and leave them there."""
        return False

    def charge(  # noqa: B027 (real ranks take the time that they take)
        self, rank: int, examples: int = 0, updates: int = 0
    ) -> None:
        """On virtual ranks, let a rank's clock go on by backprop of so many examples and so many updates."""

    def fail(self, error: BaseException) -> None:  # noqa: B027 (virtual ranks are in one process)
        """Tell the ranks of other processes that this one ends with an error."""

    def close(self) -> None:  # noqa: B027 (most have nothing to close)
        """Disconnect from the other ranks; nothing can be run afterwards."""


# Programs of one step each, to be used with `yield from`.


def wait(handle: Handle, timeout: float | None = None) -> Program:
    """Wait for one handle; the value is its result."""
    [result] = yield Wait([handle], timeout)
    return result


def send(to: int, array: np.ndarray, tag: int = 0) -> Program:
    """Send and wait until the array may be changed again."""
    handle = yield Send(to, array, tag)
    yield Wait([handle])


def receive(source: int, into: np.ndarray, tag: int = 0) -> Program:
    """Receive and wait; the value is `into`."""
    handle = yield Recv(source, into, tag)
    return (yield from wait(handle))


def exchange(
    to: int, array: np.ndarray, source: int, into: np.ndarray, tag: int = 0
) -> Program:
    """Send to one rank and receive from another at the same time, which cannot deadlock; the value is `into`."""
    receiving = yield Recv(source, into, tag)
    sending = yield Send(to, array, tag)
    received, _ = yield Wait([receiving, sending])
    return received


def all_reduce(array: np.ndarray, op: ReduceOp = "sum") -> Program:
    """The engine's own allreduce, in place."""
    handle = yield AllReduce(array, op)
    return (yield from wait(handle))


def broadcast(array: np.ndarray, root: int = 0) -> Program:
    """The engine's own broadcast, in place."""
    handle = yield Broadcast(array, root)
    return (yield from wait(handle))


def all_gather(array: np.ndarray, uneven: bool = False) -> Program:
    """The arrays of all ranks by the engine's own collective."""
    handle = yield AllGather(array, uneven)
    return (yield from wait(handle))


def barrier(timeout: float | None = None) -> Program:
    """Wait until every rank has reached this point."""
    handle = yield Barrier()
    yield from wait(handle, timeout)
