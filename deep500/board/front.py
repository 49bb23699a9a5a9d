"""Which entries are unbeaten in time and in quality."""

from collections.abc import Sequence

from ..contracts.standing import Score

Pair = tuple[Score | None, Score | None]


def unbeaten(pairs: Sequence[Pair]) -> list[bool | None]:
    """For every pair of scores, whether no other is as good in both and better in one; None where a value is missing.

    By the medians alone: the places say what is certain.
    """
    points = [_point(pair) for pair in pairs]
    answers: list[bool | None] = []
    for point in points:
        if point is None:
            answers.append(None)
            continue
        answers.append(not any(_beats(other, point) for other in points))
    return answers


def _point(pair: Pair) -> tuple[float, float] | None:
    """Both values as costs: lower is better."""
    first, second = pair
    if first is None or second is None:
        return None
    if first.value is None or second.value is None:
        return None
    return _as_cost(first, first.value), _as_cost(second, second.value)


def _as_cost(score: Score, value: float) -> float:
    return -value if score.better == "higher" else value


def _beats(a: tuple[float, float] | None, b: tuple[float, float]) -> bool:
    if a is None or a == b:
        return False
    return a[0] <= b[0] and a[1] <= b[1]
