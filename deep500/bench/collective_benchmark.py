"""The benchmark of collectives: algorithms × sizes × transports, on ranks that begin together."""

from collections.abc import Sequence
from typing import Any, ClassVar

from .. import registry
from ..definition_text import definition_of
from ..errors import Deep500Error, unknown
from ..results.collectives.data import (
    ALONE,
    COMPUTING,
    ENGINE,
    LIBRARIES,
    LIBRARY,
    LIBRARY_CALLS,
    MESSAGE,
    OPERATIONS,
    PING_PONG,
    POLLED,
    POST,
    TRAIN,
    UNPOLLED,
    TimedCase,
)
from ..schema import encoded
from .benchmark import Benchmark, Trial, check_distinct, factor
from .collectives.launches import LaunchJob
from .collectives.sizes import sizes_in_bytes
from .collectives.subjects import element_count

ALL = "all"
VIRTUAL = "virtual"
TRANSPORTS = ("mpi", "torch", VIRTUAL)
ALL_REDUCE = "all_reduce"
STARTS = ("window", "barrier")
DTYPES = ("float32", "float64")
SIZES = ("8", "64", "512", "4KiB", "32KiB", "256KiB", "1MiB", "4MiB", "16MiB", "64MiB")
# of messages between two ranks; the last one is sent by all of a train
MESSAGES = (1, 64, 1024, 8192, 65536, 524288, 4194304)
LONGEST_TRAIN = 65536
MOST_RANKS = 256
DEADLINE = 60.0


class CollectiveBenchmark(Benchmark):
    """how long collectives take, by algorithm, size and transport; fits LogGP to this machine"""

    kind: ClassVar[str] = "collective_bench"
    timed: ClassVar[bool] = False
    least_timeout_s: ClassVar[float] = 600.0

    transport: tuple[str, ...] = factor(
        ("mpi",), "what carries messages: mpi, torch, virtual", "TRANSPORT"
    )
    ranks: tuple[int, ...] = factor((2,), "how many ranks", "P")
    algorithm: tuple[str, ...] = factor(
        (ALL,), "collectives as text, library, library-apart, or all"
    )
    operation: tuple[str, ...] = factor((ALL_REDUCE,), "all_reduce, all_gather …")
    size: tuple[str, ...] = factor(
        SIZES, "bytes of a rank's array, or deepbench", "SIZE"
    )
    dtype: tuple[str, ...] = factor(("float32",), "the dtypes of floats", "DTYPE")
    launches: int = factor(6, "how often the ranks are started")
    seconds: float = factor(5.0, "seconds of measuring in each launch", "SECONDS")
    overlap: bool = factor(False, "also compute while a non-blocking allreduce goes on")
    start: str = factor("window", "how ranks begin together: window, barrier")
    calls: int = factor(1, "how many calls are timed together, as one sample")
    hold_out: tuple[str, ...] = factor(
        ("Rabenseifner()",), "algorithms that the fit does not see, and predicts"
    )
    seed: int = factor(0, "the seed of the random order")

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_words("--transport", self.transport, TRANSPORTS)
        _check_words("--operation", self.operation, OPERATIONS)
        _check_words("--dtype", self.dtype, DTYPES)
        _check_words("--start", (self.start,), STARTS)
        for name in ("ranks", "algorithm", "size"):
            check_distinct(f"--{name}", getattr(self, name))
        for ranks in self.ranks:
            if not 2 <= ranks <= MOST_RANKS:
                raise Deep500Error(f"--ranks {ranks}: give 2 to {MOST_RANKS}")
        for name in ("launches", "calls"):
            if not 1 <= getattr(self, name) <= 1000:
                raise Deep500Error(f"--{name} {getattr(self, name)}: give 1 to 1000")
        if not 0 < self.seconds < 1e6:
            raise Deep500Error(f"--seconds {self.seconds:g}: give more than 0")
        for text in self.hold_out:
            _algorithm(text)
        if self.overlap and set(self.transport) == {VIRTUAL}:
            raise Deep500Error(
                "--overlap: virtual ranks compute in no time of their own; measure it with --transport mpi or torch"
            )
        for transport in self.transport:
            for case in self.cases(transport):
                element_count(case)
        if ALL not in self.algorithm:
            for text in self.algorithm:
                self._check_algorithm(_algorithm(text))

    def _check_algorithm(self, algorithm: str) -> None:
        """Raise a Deep500Error if there is nothing in this request that the algorithm can do."""
        asked = [(t, o) for t in self.transport for o in self.operation]
        is_offered = any(_offers(algorithm, *one) for one in asked)
        if algorithm in LIBRARIES:
            if not is_offered:
                raise Deep500Error(
                    f"--algorithm {algorithm}: this is an all_reduce of real ranks; give --operation all_reduce and "
                    f"--transport mpi{' or torch' if algorithm == LIBRARY else ''}"
                )
            return
        collective = definition_of(algorithm, "collectives")
        if not is_offered:
            raise Deep500Error(
                f"--algorithm {algorithm} has no {' or '.join(self.operation)}: it offers "
                f"{', '.join(collective.operations) or 'none'}"
            )
        refusals = []
        for ranks in self.ranks:
            try:
                collective.check(ranks)
            except Deep500Error as error:
                refusals.append(error)
        if len(refusals) == len(self.ranks):
            raise refusals[0]

    def jobs(self) -> list[LaunchJob]:
        """Launches of all transports and numbers of ranks in turn, so that all have the same share of every moment."""
        jobs = []
        for launch in range(self.launches):
            for ranks in self.ranks:
                for transport in self.transport:
                    # virtual ranks always take the same time
                    if transport != VIRTUAL or launch == 0:
                        jobs.append(self._job(transport, ranks, launch))
        return jobs

    def _job(self, transport: str, ranks: int, launch: int) -> LaunchJob:
        cases = tuple(encoded(case) for case in self.cases(transport))
        return LaunchJob(
            transport,
            ranks,
            launch,
            cases,
            self.start,
            self.seconds,
            self.calls,
            self.seed + launch,
            DEADLINE,
        )

    def cases(self, transport: str) -> list[TimedCase]:
        """All that is measured over a transport, in an order in which nothing needs what follows it."""
        cases = []
        for operation in self.operation:
            for algorithm in self._algorithms(operation, transport):
                for nbytes in sizes_in_bytes(self.size):
                    for dtype in self.dtype:
                        cases.append(TimedCase(algorithm, operation, nbytes, dtype))
        if transport != VIRTUAL:
            cases += self._overlapped() + _messages()
        return list(dict.fromkeys(cases))

    def _algorithms(self, operation: str, transport: str) -> list[str]:
        """The algorithms of an operation, as text."""
        names: Sequence[str] = self.algorithm
        if ALL in names:
            names = (*registry.known("collectives"), LIBRARY)
        algorithms = [_algorithm(name) for name in names]
        return [one for one in algorithms if _offers(one, transport, operation)]

    def _overlapped(self) -> list[TimedCase]:
        if not self.overlap:
            return []
        cases = []
        for nbytes in sizes_in_bytes(self.size):
            for progress in (ALONE, COMPUTING, UNPOLLED, POLLED):
                case = TimedCase(ENGINE, ALL_REDUCE, nbytes, self.dtype[0], progress)
                cases.append(case)
        return cases

    def block(self, group: str, trials: Sequence[Trial]) -> dict[str, Any]:
        [trial] = trials
        if trial.state == "ok":
            return trial.result["block"]
        return encoded(trial.job.block(failure=trial.text))


def _algorithm(text: str) -> str:
    """The text of a collective, checked; raises a Deep500Error if there is none of that name."""
    if text in LIBRARIES:
        return text
    definition_of(text, "collectives")
    return text if text.endswith(")") else f"{text}()"


def _offers(algorithm: str, transport: str, operation: str) -> bool:
    """Whether an algorithm has the operation over a transport."""
    if algorithm in LIBRARIES:
        return operation == ALL_REDUCE and algorithm in LIBRARY_CALLS[transport]
    return operation in definition_of(algorithm, "collectives").operations


def _messages() -> list[TimedCase]:
    cases = [TimedCase(POST, MESSAGE, 1, "uint8")]
    for nbytes in MESSAGES:
        cases.append(TimedCase(PING_PONG, MESSAGE, nbytes, "uint8"))
        if nbytes <= LONGEST_TRAIN:
            cases.append(TimedCase(TRAIN, MESSAGE, nbytes, "uint8"))
    return cases


def _check_words(option: str, given: Sequence[str], known: Sequence[str]) -> None:
    check_distinct(option, given)
    for word in given:
        if word not in known:
            raise unknown(f"value of {option}", word, known)
