"""What a result brings to a board: its scores, the league that it competes in, the series that it is a point of."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Word = Literal["better", "worse", "same", "different", "inconclusive"]
Direction = Literal["lower", "higher"]
# metrics of these kinds are what it takes: they are one axis of the picture of time against quality
COSTS = "cost", "rate"


@dataclass(frozen=True)
class Score:
    """One number of a contestant with its interval; where there is no value, `text` says why."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    level: float
    unit: str
    kind: str
    better: Direction | None
    text: str
    target: float | None = None
    # of the target: met, unsure or missed; empty without one
    verdict: str = ""


@dataclass(frozen=True)
class Standing:
    """All that a board says of a contestant, beside the machine, the dates and the files of its bundle."""

    subject: str  # what it is a solution of: the name of a recipe
    system: str  # what it is: the entries that a participant may change
    division: str
    # acceptable, unsure, not acceptable, or measured where nothing was asked for
    verdict: str
    # what two contestants must have in common to be ranked with each other
    league: Mapping[str, Any]
    # what two results must have in common to be points of one series
    method: Mapping[str, Any]
    scores: Sequence[Score]
    versions: Mapping[str, str]

    def score(self, name: str) -> Score | None:
        for score in self.scores:
            if score.name == name:
                return score
        return None


class Contestant(ABC):
    """What is ranked: a whole result, or one entry of it."""

    standing: Standing

    @abstractmethod
    def against(
        self, other: "Contestant", score: str, margin: float, level: float
    ) -> Word:
        """What this one is in that score, compared with another of its league: better means that this one is."""
