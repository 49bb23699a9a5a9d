"""What a launch tells its ranks, and what each of them tells it: files in a folder of their own."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...results.collectives.data import TimedCase


@dataclass(frozen=True)
class CollectiveRequest:
    """What the ranks of a launch are to do."""

    transport: str
    cases: Sequence[TimedCase]
    start: str
    seconds: float
    calls: int
    seed: int
    deadline: float


@dataclass
class CaseOnRank:
    """What a rank has measured of a case: when it began and ended, in ns by rank 0's clock."""

    case: TimedCase
    begin: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    sent: int = 0
    modelled: bool = False
    memory: int | None = None
    failure: str = ""
    is_wrong: bool = False


@dataclass(frozen=True)
class RankCases:
    """All that a rank has measured; `residual` is by how much its clock was off at the end, within `bound`."""

    library: str
    start: str
    delay: int
    residual: int
    bound: int
    rows: Sequence[CaseOnRank]
