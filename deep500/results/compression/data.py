"""Plan and blocks of a benchmark of compression: times of steps on slow networks, accuracy, and traffic."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from ...schema import Between, Count, Length, Positive, optional

Amount = Annotated[float, Between(0, 1e300)]
Rate = Annotated[float, Between(1e-3, 1e9)]
Ranks = Annotated[int, Between(1, 4097)]
# a rate of 0 Mbit/s stands for a network without a limit
UNLIMITED = 0.0
DENSE = "AllReduce()"
HALF = "AllReduce(codec=Float16())"
BASELINES = (DENSE, HALF)
# why launches have failed that a model replaces
NOT_PERMITTED = "network namespaces are not permitted here"


@dataclass(frozen=True)
class CompressionPlan:
    """The factors of the benchmark, as they were given."""

    bandwidth: Sequence[Rate]
    ranks: Ranks
    codec: Sequence[str]
    scheme: Sequence[str]
    hidden: Sequence[Positive]
    batch: Positive
    steps: Positive
    seconds: float
    launches: Count
    seeds: Count
    epochs: Count
    target: float
    seed: int


@dataclass(frozen=True)
class MethodTimes:
    """Stretches of steps by one scheme: seconds per step on every rank, bytes per step that each rank has sent.

    `counted` are the bytes that the transport counts or models, `wire` those that the interface of the rank has sent,
    with all headers; None where the ranks have no interface of their own.
    """

    method: str
    seconds: Sequence[Annotated[Sequence[Amount], Length(256, 1)]]
    counted: Sequence[Amount]
    wire: Sequence[Amount] | None = optional()
    failure: str = ""


@dataclass(frozen=True)
class Times:
    """The schemes of one launch in turn, on a network of so many Mbit/s in each direction of each rank (0: no limit).

    `latency` and `gap` are those of messages between two ranks, in seconds and seconds per byte.
    """

    bandwidth: float
    launch: Count
    others: float | None
    is_namespace: bool
    latency: Amount
    gap: Amount
    rows: Sequence[MethodTimes]


@dataclass(frozen=True)
class Accuracy:
    """Accuracy in % on the validation data after every epoch, and on the test data after the last one, of one seed."""

    method: str
    seed: int
    steps_per_epoch: Positive
    accuracies: Sequence[float]
    test: float | None
    failure: str = ""


@dataclass(frozen=True)
class RankTraffic:
    """What a step's communication takes on so many ranks: so often the latency, and so many bytes one after another."""

    ranks: Ranks
    latencies: Amount
    bytes: Amount


@dataclass(frozen=True)
class MethodTraffic:
    """The communication of a step of one scheme, by number of ranks, as virtual ranks find it."""

    method: str
    by_ranks: Sequence[RankTraffic]
    failure: str = ""


@dataclass(frozen=True)
class CompressionBlock:
    """A block: one of the three, or why there is none."""

    what: str
    machine: str
    cpus: Positive
    times: Times | None = optional()
    accuracy: Accuracy | None = optional()
    traffic: MethodTraffic | None = optional()
    failure: str = ""
