"""Which scores a league is ranked by, and which are the axes of its picture."""

from collections.abc import Sequence

from ..contracts.standing import COSTS, Score
from ..errors import Deep500Error, unknown


def ranking_score(scores: Sequence[Score], asked: str | None) -> str:
    """The score that ranks: the one that was asked for, else the first time, cost or rate, or with a direction."""
    directed = [score for score in scores if score.better is not None]
    names = [score.name for score in directed]
    if asked is not None:
        return named_score(asked, names)
    times = [score.name for score in directed if score.unit == "s"]
    costs = [score.name for score in directed if score.kind in COSTS]
    if times or costs:
        return [*times, *costs][0]
    if not names:
        raise Deep500Error("no score says whether lower or higher is better")
    return names[0]


def named_score(asked: str, names: Sequence[str]) -> str:
    """The name that begins as asked for, in words or as the metric's class."""
    wanted = asked.replace("_", " ").lower()
    for name in names:
        plain = name.partition(" (")[0]
        if wanted in (name.lower(), plain.lower(), plain.replace(" ", "").lower()):
            return name
    raise unknown("score", asked, names)


def quality_score(scores: Sequence[Score], ranked_by: str) -> str | None:
    for score in scores:
        is_directed = score.better is not None and score.name != ranked_by
        if score.kind == "quality" and is_directed:
            return score.name
    return None


def cost_score(scores: Sequence[Score], ranked_by: str) -> str | None:
    """Money, energy, memory: what it costs besides time."""
    for score in scores:
        is_time = score.unit == "s" or score.name == ranked_by
        if score.kind in COSTS and not is_time and score.better == "lower":
            return score.name
    return None
