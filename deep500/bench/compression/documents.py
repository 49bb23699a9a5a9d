"""What a launch tells its ranks, and what each of them tells it."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class StepsRequest:
    """What the ranks of a launch are to do; `interface` is the one whose bytes they read, if they have one."""

    methods: Sequence[str]
    hidden: Sequence[int]
    batch: int
    steps: int
    seconds: float
    seed: int
    deadline: float
    interface: str
    mbit: float


@dataclass
class MethodOnRank:
    """Stretches of one scheme on this rank."""

    method: str
    seconds: list[float] = field(default_factory=list)
    counted: list[float] = field(default_factory=list)
    wire: list[float] = field(default_factory=list)
    failure: str = ""


@dataclass(frozen=True)
class RankMethods:
    """All that a rank has measured; latency and gap of messages as rank 0 found them."""

    rows: Sequence[MethodOnRank]
    latency: float
    gap: float
