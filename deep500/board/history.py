"""Series of results in the order of time, and where their level changes; another method begins another series."""

import math
from collections.abc import Sequence
from itertools import groupby

from ..contracts.standing import Score
from ..errors import Deep500Error, TooFewSamples
from ..measure.statistics.change_points import (
    SHORTEST_SERIES,
    ChangePoint,
    change_points,
)
from ..reports.tables import percent, ratio
from .collecting import Candidate
from .document import ResultSeries, SeriesPoint, Shift
from .roles import ranking_score

FEWEST_POINTS = 2
NAMES = {
    "recipe": "the recipe",
    "plan": "how it was run",
    "entries": "what was measured",
    "entry": "the entry",
    "machine": "the machine",
}


def all_series(
    candidates: Sequence[Candidate],
    asked: str | None,
    level: float,
    fewest: int = FEWEST_POINTS,
) -> list[ResultSeries]:
    """Every series with so many results or more, those of one subject one after the other."""
    found = []
    by_series = sorted(candidates, key=lambda candidate: candidate.series)
    groups: list[list[Candidate]] = []
    for _, members in groupby(by_series, lambda candidate: candidate.series):
        in_time = sorted(members, key=lambda member: (member.created, member.entry))
        groups.append(in_time)
    groups.sort(key=lambda group: (_subject(group), group[0].created, group[0].entry))
    previous: list[Candidate] = []
    for group in groups:
        if len(group) < fewest:
            continue
        differs = ""
        if previous and _subject(previous) == _subject(group):
            differs = _differences(previous[-1], group[0])
        found.append(series_of(group, asked, level, differs))
        previous = group
    return found


def series_of(
    group: Sequence[Candidate], asked: str | None, level: float, differs: str = ""
) -> ResultSeries:
    """One series, from results of one method in the order of time."""
    standing = group[-1].contestant.standing
    name = ranking_score(standing.scores, asked)
    points = []
    for candidate in group:
        score = candidate.contestant.standing.score(name)
        if score is not None:
            point = SeriesPoint(
                candidate.entry, candidate.created, score, candidate.versions
            )
            points.append(point)
    shifts, answer = _shifts(points, level)
    return ResultSeries(
        key=group[0].series,
        subject=standing.subject,
        system=standing.system,
        machine=group[0].machine.name,
        score=name,
        points=points,
        shifts=shifts,
        answer=answer,
        differs=differs,
    )


def _subject(group: Sequence[Candidate]) -> str:
    return group[0].contestant.standing.subject


def _differences(a: Candidate, b: Candidate) -> str:
    """In what the methods of two series differ."""
    names = []
    method_a = a.contestant.standing.method
    method_b = b.contestant.standing.method
    for key in dict.fromkeys([*method_a, *method_b]):
        if method_a.get(key) != method_b.get(key):
            names.append(NAMES.get(key, key))
    if a.machine.key != b.machine.key:
        names.append(NAMES["machine"])
    return " and ".join(names)


def _shifts(points: Sequence[SeriesPoint], level: float) -> tuple[list[Shift], str]:
    """The changes of a series, and the answer in a sentence."""
    values = [point.score.value for point in points]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        missing = len(values) - len(known)
        return [], f"not decided: {missing} of {len(values)} results have no value"
    if any(value <= 0 for value in known):
        return [], "not decided: a ratio needs values above 0"
    try:
        found = change_points([math.log(value) for value in known], level)
    except TooFewSamples:
        return [], (
            f"not decided: {len(known)} results; a change is looked for from {SHORTEST_SERIES} on"
        )
    except Deep500Error as error:
        return [], f"not decided: {error}"
    shifts = [_shift(points, change) for change in found]
    if not shifts:
        return [], f"no change in {len(known)} results at {percent(level)}"
    last = shifts[-1]
    size = ratio(last.ratio, last.low, last.high, last.n, level)
    plural = "1 change" if len(shifts) == 1 else f"{len(shifts)} changes"
    return shifts, (
        f"{plural} in {len(known)} results; the last is {last.verdict}, {size}, from {last.after} on"
    )


def _shift(points: Sequence[SeriesPoint], change: ChangePoint) -> Shift:
    return Shift(
        before=points[change.start - 1].entry,
        after=points[change.start].entry,
        date=points[change.start].date,
        earliest=points[change.earliest].entry,
        latest=points[min(change.latest, len(points) - 1)].entry,
        ratio=math.exp(change.shift),
        low=math.exp(change.low),
        high=math.exp(change.high),
        p=change.p,
        n=change.n,
        verdict=_word(points[0].score, change),
    )


def _word(score: Score, change: ChangePoint) -> str:
    """Whether the new level is better; the interval may still include no change, which the test by ranks excludes."""
    if score.better is None:
        return "different"
    is_lower = change.shift < 0
    return "better" if is_lower == (score.better == "lower") else "worse"
