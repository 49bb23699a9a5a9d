"""What a simulation plans and records: the subject, the network, and a block for every seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from ...schema import Between, Count, Length, Positive, optional

MOST_SEEDS = 10_000
MOST_RANKS = 1 << 27
Duration = Annotated[float, Between(0, 1e18)]  # nanoseconds
Ranks = Annotated[int, Between(1, MOST_RANKS)]
# What an interval of the timeline, or a part of the critical path, went to
Activity = Literal["work", "overhead", "latency", "gap", "bytes", "noise", "waiting"]


@dataclass(frozen=True)
class NetworkLevel:
    """The parameters of messages between ranks that share this level, in nanoseconds; ranks 0: all."""

    ranks: Count
    L: Count
    o: Count
    g: Count
    G: Duration
    O: Duration  # noqa: E741 (the name that it has in the literature)
    S: Count
    knots: Sequence[Count] = optional(())
    gaps: Sequence[Duration] = optional(())


@dataclass(frozen=True)
class SimulationPlan:
    """One subject on one cluster.

    subject, kind   What was simulated: the text of a collective, a recipe, or the name of a GOAL file.
    fingerprint     The hash of the schedule: operations, messages and their order.
    calibration     Where the figures of the network come from; `elsewhere` says that it is another machine.
    disturbances    Noise, speeds, stragglers and deaths, as they were given.
    setting         What else was chosen: the size, the operation, the scheme …
    """

    subject: str
    kind: Literal["goal", "collective", "recipe"]
    ranks: Ranks
    operations: Count
    messages: Count
    fingerprint: str
    levels: Annotated[Sequence[NetworkLevel], Length(3, 1)]
    calibration: str
    elsewhere: str
    disturbances: Mapping[str, str]
    setting: Mapping[str, str]
    seeds: Annotated[Sequence[Count], Length(MOST_SEEDS, 1)]
    is_random: bool  # whether another seed would give another time


@dataclass(frozen=True)
class PathPart:
    """A stretch of the critical path: on which rank, from when to when, and what it was spent on."""

    rank: Count
    begin: Count
    end: Count
    activity: Activity


@dataclass(frozen=True)
class CriticalPath:
    """The chain of causes that ends last: nanoseconds by activity, and its first and last parts."""

    activities: Mapping[str, Count]
    parts: Sequence[PathPart]
    length: Count  # of all parts, of which only some are kept


@dataclass(frozen=True)
class TrainingResult:
    """What the ranks learned, by real numerics."""

    losses: Sequence[float]
    qualities: Mapping[str, float]
    steps: Positive


@dataclass(frozen=True)
class SeedBlock:
    """One simulation: when the ranks were done, and the nanoseconds of all ranks by activity.

    The first block also has when every rank was done, and the timeline and critical path if they were recorded.
    """

    seed: Count
    makespan: Count
    work: Count
    overhead: Count
    bytes: Count
    noise: Count
    events: Count
    nanoseconds: Sequence[Count] | None = optional()
    timeline: Sequence[PathPart] | None = optional()
    path: CriticalPath | None = optional()
    training: TrainingResult | None = optional()
