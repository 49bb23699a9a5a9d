"""Places from comparisons of all pairs: a place is a range, and whoever cannot be told apart shares it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from ..contracts.standing import Contestant, Word
from ..measure.statistics.groups import step_down

DECIDED = ("better", "worse", "same")


@dataclass(frozen=True)
class Place:
    """The places that are possible at the level of the whole family: from 1 + those that are better."""

    best: int
    worst: int
    ahead_of: int  # how many it beats
    behind: int

    @property
    def text(self) -> str:
        return (
            str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"
        )


@dataclass(frozen=True)
class Ranking:
    """The places of all contestants, in their order, and how many of their pairs have a verdict."""

    places: tuple[Place, ...]
    pairs: int
    decided: int
    # by pair of indices: what the first is against the second
    words: dict[tuple[int, int], Word]


def ranking(
    contestants: Sequence[Contestant], score: str, margin: float, level: float
) -> Ranking:
    """Compare every pair as one family (Holm), so that all places hold together at that level."""
    pairs = [*combinations(range(len(contestants)), 2)]

    def look_at(number: int, stricter: float) -> Word:
        first, second = pairs[number]
        a, b = contestants[first], contestants[second]
        return a.against(b, score, margin, stricter)

    words = step_down(len(pairs), look_at, DECIDED.__contains__, level)
    found = dict(zip(pairs, words, strict=True))
    count = len(contestants)
    behind = [0] * count  # how many are better
    ahead = [0] * count
    for (first, second), word in found.items():
        if word == "better":
            ahead[first] += 1
            behind[second] += 1
        elif word == "worse":
            behind[first] += 1
            ahead[second] += 1
    places = []
    for beaten, better in zip(ahead, behind, strict=True):
        places.append(Place(1 + better, count - beaten, beaten, better))
    decided = sum(word in ("better", "worse") for word in words)
    return Ranking(tuple(places), len(pairs), decided, found)
