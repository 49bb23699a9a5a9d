"""What derived.json holds of a reproduction: its three answers, and every time."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...contracts.result import Record
from .blocks import ReproductionBlock, ReproductionPlan

YES, NO, UNDECIDED = "yes", "no", "not decided"
NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class ReproductionAnswer:
    """Yes, no or not decided, and why."""

    verdict: str
    text: str


@dataclass(frozen=True)
class SameBits(ReproductionAnswer):
    """Whether every seed gave the same losses and the same weights, to the last bit."""

    seeds: int
    same: int


@dataclass(frozen=True)
class StatementAgain:
    """A statement about the original, and whether it holds again."""

    what: str
    original: str
    again: str
    verdict: str


@dataclass(frozen=True)
class Replicated(ReproductionAnswer):
    """Whether what was claimed holds again."""

    rows: Sequence[StatementAgain]


@dataclass(frozen=True)
class Interpretable(ReproductionAnswer):
    """How many of the items that a reader needs are documented."""

    score: float


@dataclass(frozen=True)
class TimeAgain:
    """The ratio again / original of one cost or rate with its interval; without a ratio, the reason says why."""

    metric: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: str = NOT_JUDGED
    reason: str = ""


@dataclass(frozen=True)
class ReproductionNumbers:
    """The three answers and the times."""

    reproduced: SameBits
    replicated: Replicated
    interpretable: Interpretable
    times: Sequence[TimeAgain]


ReproductionRecord = Record[ReproductionPlan, ReproductionBlock, ReproductionNumbers]
