"""Plan and blocks of a benchmark of collectives: the moments at which every rank arrived and left."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from ...contracts.collective_cost import CollectiveCost
from ...schema import Between, Count, Length, Positive

Nanoseconds = Annotated[int, Between(0, 1 << 62)]
Offset = Annotated[int, Between(-(1 << 62), 1 << 62)]
Ranks = Annotated[int, Between(1, 257)]
Word = Annotated[str, Length(40, 1)]
# one number for every rank
Moments = Annotated[Sequence[Nanoseconds], Length(256, 1)]

# what stands for the library's own blocking call, in the place of an algorithm
LIBRARY = "library"
# the same with a buffer for the result, as other benchmarks call it
LIBRARY_APART = "library-apart"
LIBRARIES = (LIBRARY, LIBRARY_APART)
# which of them a transport has, for all_reduce
LIBRARY_CALLS = {"mpi": LIBRARIES, "torch": (LIBRARY,), "virtual": ()}
# the engine's own non-blocking collectives
ENGINE = "Native()"
# messages between two ranks, from which L, o and g follow
MESSAGE = "message"
PING_PONG, TRAIN, POST = "ping-pong", "train", "post"
TRAIN_LENGTH = 16
# on arrays of numbers; those on sparse streams and on graphs have no common size
OPERATIONS = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all")
# what a rank does while a non-blocking collective goes on
ALONE, COMPUTING, UNPOLLED, POLLED = "", "computing", "unpolled", "polled"


@dataclass(frozen=True)
class CollectivePlan:
    """The factors of the benchmark, as they were given."""

    transport: Sequence[str]
    ranks: Sequence[Ranks]
    algorithm: Sequence[str]
    operation: Sequence[str]
    size: Sequence[str]
    dtype: Sequence[str]
    launches: Count
    seconds: float
    overlap: bool
    start: str
    calls: Count
    hold_out: Sequence[str]
    seed: int


@dataclass(frozen=True)
class TimedCase:
    """What is timed: an operation by an algorithm, on arrays of so many bytes.

    `progress` says what the rank does besides: nothing, or it computes while a non-blocking collective goes on.
    """

    algorithm: str
    operation: Word
    bytes: Positive
    dtype: Word
    progress: str = ALONE


@dataclass(frozen=True)
class CaseSamples:
    """The samples of a case in one launch: for every iteration, when each rank arrived and when it left.

    Nanoseconds after the first rank's arrival, by the clock of rank 0. `sent` are the bytes that each rank sends in one
    call, `memory` the bytes of buffers that the rank that needs most allocates in Python. `failure` is why there are no
    samples: the result is wrong, or the algorithm cannot run here.
    """

    case: TimedCase
    arrive: Sequence[Moments]
    leave: Sequence[Moments]
    sent: Sequence[Count]
    modelled: bool
    memory: Count | None
    cost: CollectiveCost | None = None
    failure: str = ""
    is_wrong: bool = False


@dataclass(frozen=True)
class CollectiveLaunch:
    """A block: the ranks of one launch, which measured all cases in turn.

    `start` is how they began together: at the end of a delay that all wait out (window), behind a barrier, or at the
    same virtual time. `residual` is by how much each clock was off at the end, in ns, as far as exchanged messages tell
    it: within `bound`.
    """

    transport: Word
    ranks: Ranks
    launch: Count
    machine: str
    library: str
    cpus: Ranks
    others: float | None
    start: str
    delay: Nanoseconds
    residual: Sequence[Offset]
    bound: Sequence[Nanoseconds]
    rows: Sequence[CaseSamples]
    failure: str = ""
