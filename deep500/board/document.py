"""A board as one document: what board.json holds, and what page and CSV are made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..contracts.standing import Score
from .change_log import Change

FORMAT = 1


@dataclass(frozen=True)
class Row:
    """One entry of a league. `place` is empty if it missed a target: then it is not ranked."""

    entry: str
    place: str
    ahead_of: int
    behind: int
    verdict: str
    system: str
    scores: Sequence[Score]
    date: str
    versions: Mapping[str, str]
    series: str
    manifest: str
    marks: Sequence[str]
    # whether no other entry has both a better time and a better quality, by the medians; None without both
    unbeaten: bool | None
    # relative to the page
    bundle: str
    report: str
    audit: str | None

    def score(self, name: str) -> Score | None:
        for score in self.scores:
            if score.name == name:
                return score
        return None


@dataclass(frozen=True)
class League:
    """The entries that are ranked with each other; those that cannot be told apart share a place."""

    key: str
    subject: str
    division: str
    machine: str
    machine_key: str
    ranked_by: str
    quality: str | None
    cost: str | None
    answer: str
    pairs: int
    decided: int
    rows: Sequence[Row]


@dataclass(frozen=True)
class SeriesPoint:
    entry: str
    date: str
    score: Score
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Shift:
    """A place in a series from which on the results are others, with the interval of their ratio."""

    before: str  # the last entry before it
    after: str
    date: str
    # the places that cannot be told from it: the first and the last entry that may be the first of the new level
    earliest: str
    latest: str
    ratio: float
    low: float
    high: float
    p: float
    n: int
    verdict: str


@dataclass(frozen=True)
class ResultSeries:
    """Results that differ in nothing but time, software and the state of the machine, in the order of time."""

    key: str
    subject: str
    system: str
    machine: str
    score: str
    points: Sequence[SeriesPoint]
    shifts: Sequence[Shift]
    answer: str
    # what is different from the series of the same subject that ended before it; empty for the first
    differs: str = ""


@dataclass(frozen=True)
class Board:
    """All that is shown."""

    format: int
    title: str
    margin: float
    level: float
    rules: str
    leagues: Sequence[League]
    series: Sequence[ResultSeries]
    log: Sequence[Change]
    log_head: str
