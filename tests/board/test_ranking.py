"""Places: a winner is first, ties are ties, and equal contestants are not told apart more often than the level says."""

import random

import pytest

from deep500.board.ranking import ranking
from deep500.contracts.standing import Contestant, Score, Standing, Word
from deep500.measure.statistics.ranks import rank_sum_tail


class Timed(Contestant):
    """Independent times, compared by an exact test of their ranks."""

    def __init__(self, samples: list[float]):
        self.samples = samples

    def against(
        self, other: Contestant, score: str, margin: float, level: float
    ) -> Word:
        assert isinstance(other, Timed)
        tail = (1 - level) / 2
        mine = [value * (1 + margin) for value in self.samples]
        if rank_sum_tail(mine, other.samples) <= tail:
            return "better"
        theirs = [value * (1 + margin) for value in other.samples]
        if rank_sum_tail(theirs, self.samples) <= tail:
            return "worse"
        return "inconclusive"


def drawn(middle: float, seed: int, n: int = 30) -> Timed:
    draw = random.Random(seed)
    return Timed([middle * draw.lognormvariate(0, 0.05) for _ in range(n)])


def places(middles: list[float]) -> list[str]:
    contestants = [drawn(middle, seed) for seed, middle in enumerate(middles)]
    found = ranking(contestants, "time", 0.02, 0.95)
    return [place.text for place in found.places]


def test_clear_differences_are_places() -> None:
    assert places([3.0, 1.0, 2.0]) == ["3", "1", "2"]


def test_who_cannot_be_told_apart_shares_places() -> None:
    assert places([1.0, 1.0, 2.0]) == ["1–2", "1–2", "3"]


def test_a_chain_of_ties_is_no_order() -> None:
    """The first and the last differ, and neither can be told from the one in the middle."""
    first, middle, last = places([1.0, 1.035, 1.07])
    assert (first, middle, last) == ("1–2", "1–3", "2–3")


def test_one_and_none() -> None:
    assert places([1.0]) == ["1"]
    assert places([]) == []


def test_equal_contestants_are_seldom_told_apart() -> None:
    """60 families of 5 equal ones: with no margin, 5 % of families may have a wrong verdict."""
    wrong = 0
    for family in range(60):
        contestants = [drawn(1.0, 100 * family + i, 12) for i in range(5)]
        found = ranking(contestants, "time", 0.0, 0.95)
        wrong += any(place.text != "1–5" for place in found.places)
    assert wrong <= 8  # 9 or more of 60 at 5 % each: 0.4 %


def test_without_the_family_they_would_be() -> None:
    """The planted error: every pair at the plain level finds differences in more than every fourth family."""
    wrong = 0
    for family in range(60):
        contestants = [drawn(1.0, 100 * family + i, 12) for i in range(5)]
        words = [
            a.against(b, "time", 0.0, 0.9)
            for a in contestants
            for b in contestants
            if a is not b
        ]
        wrong += any(word in ("better", "worse") for word in words)
    assert wrong > 8


@pytest.mark.parametrize("name", ["known", "unknown"])
def test_a_standing_finds_its_scores(name: str) -> None:
    score = Score("known", 1.0, None, None, 1, 0.95, "s", "cost", "lower", "1 s")
    standing = Standing("a", "b", "closed", "measured", {}, {}, [score], {})
    assert (standing.score(name) is score) == (name == "known")
