"""Builds the board of a folder: what is there, what its log says, who is ahead."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from ..contracts.standing import Score
from ..errors import Deep500Error
from ..reports.text import clean
from . import change_log
from .audits import audit_page
from .change_log import Change, Found
from .collecting import Candidate, RefusedBundle, bundle_paths, collect
from .document import FORMAT, Board, League, Row
from .front import unbeaten
from .history import all_series
from .ranking import Place, ranking
from .roles import cost_score, quality_score, ranking_score

RULES = 1  # counts up when the same bundles would give other places
UNRANKED = "not acceptable"


@dataclass(frozen=True)
class BoardSettings:
    """What a board is told: its title, what ranks, and how far apart is apart."""

    title: str = ""
    metric: str | None = None
    margin: float = 0.02
    level: float = 0.95
    # the manifests that a judge has written, in the folder of a contest's results
    judged: Collection[str] | None = None


@dataclass(frozen=True)
class Built:
    """A board with the candidates that it was made from."""

    board: Board
    candidates: Sequence[Candidate]
    refused: Sequence[RefusedBundle]


def build(folder: Path, settings: BoardSettings) -> Built:
    """The board of a folder of bundles; whatever has changed since the last build is appended to its log."""
    log = change_log.log_of(folder)
    before, _ = log.read()
    candidates, refused = collect(bundle_paths(folder), settings.judged)
    found = [_found(candidate, settings) for candidate in candidates]
    for bundle in refused:
        rules = f"board {RULES}"
        found.append(Found(bundle.entry, bundle.manifest, rules, refusal=bundle.reason))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    news = [*change_log.new_changes(before, found, now)]
    log.append(news)
    changes, head = log.read()
    taken_off = change_log.latest(changes)
    shown = [c for c in candidates if taken_off[c.entry].event != "removed"]
    board = Board(
        format=FORMAT,
        title=clean(settings.title or f"Board of {folder.absolute().name}"),
        margin=settings.margin,
        level=settings.level,
        rules=f"board {RULES}",
        leagues=_leagues(shown, settings),
        series=all_series(shown, settings.metric, settings.level),
        log=changes,
        log_head=head,
    )
    return Built(board, shown, refused)


def remove(folder: Path, entry: str, reason: str) -> Change:
    """Take an entry off the board: a line in its log, which says why; the bundle stays where it is."""
    log = change_log.log_of(folder)
    changes, _ = log.read()
    last = change_log.latest(changes).get(entry)
    if last is None or last.event == "removed":
        there = sorted(
            name
            for name, change in change_log.latest(changes).items()
            if change.event in change_log.ON_THE_BOARD
        )
        names = ", ".join(there) or "none (build the board first)"
        raise Deep500Error(
            f"the board has no entry {entry!r} to remove; it has: {names}"
        )
    if not reason.strip():
        raise Deep500Error("an entry is removed for a reason: give --reason TEXT")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    change = replace(
        last, at=now, event="removed", reason=clean(reason), by="organiser"
    )
    log.append([change])
    return change


def _found(candidate: Candidate, settings: BoardSettings) -> Found:
    standing = candidate.contestant.standing
    name = ranking_score(standing.scores, settings.metric)
    score = standing.score(name)
    text = f"{name} {score.text}" if score else name
    kind = candidate.record.kind
    return Found(
        candidate.entry,
        candidate.manifest,
        rules=f"board {RULES} by {name}, {kind.name} {kind.procedure}",
        score=f"{standing.verdict}: {text}",
    )


def _leagues(candidates: Sequence[Candidate], settings: BoardSettings) -> list[League]:
    by_league = sorted(candidates, key=lambda c: (c.league, c.entry))
    leagues = []
    for key, members in groupby(by_league, lambda candidate: candidate.league):
        leagues.append(_league(key, [*members], settings))
    return sorted(
        leagues, key=lambda league: (league.subject, league.division, league.key)
    )


def _league(key: str, members: Sequence[Candidate], settings: BoardSettings) -> League:
    first = members[0].contestant.standing
    ranked_by = ranking_score(first.scores, settings.metric)
    ranked = [m for m in members if m.contestant.standing.verdict != UNRANKED]
    result = ranking(
        [member.contestant for member in ranked],
        ranked_by,
        settings.margin,
        settings.level,
    )
    places: dict[str, Place] = {}
    for member, place in zip(ranked, result.places, strict=True):
        places[member.entry] = place
    quality = quality_score(first.scores, ranked_by)
    ordered = sorted(members, key=lambda member: _order(member, places))
    fronts = unbeaten([_axes(member, ranked_by, quality) for member in ordered])
    rows = []
    for member, front in zip(ordered, fronts, strict=True):
        rows.append(_row(member, places.get(member.entry), front))
    return League(
        key=key,
        subject=first.subject,
        division=first.division,
        machine=members[0].machine.name,
        machine_key=members[0].machine.key,
        ranked_by=ranked_by,
        quality=quality,
        cost=cost_score(first.scores, ranked_by),
        answer=_answer(rows, ranked_by),
        pairs=result.pairs,
        decided=result.decided,
        rows=rows,
    )


def _order(member: Candidate, places: dict[str, Place]) -> tuple[int, int, str]:
    """By place; entries that share one by name, since no other order would be true. The unranked come last."""
    place = places.get(member.entry)
    if place is None:
        return len(places) + 1, 0, member.entry
    return place.best, place.worst, member.entry


def _axes(
    member: Candidate, ranked_by: str, quality: str | None
) -> tuple[Score | None, Score | None]:
    standing = member.contestant.standing
    return standing.score(ranked_by), standing.score(quality) if quality else None


def _row(member: Candidate, place: Place | None, front: bool | None) -> Row:
    standing = member.contestant.standing
    files = member.manifest[:16]
    has_audit = audit_page(member.path) is not None
    return Row(
        entry=member.entry,
        place=place.text if place else "",
        ahead_of=place.ahead_of if place else 0,
        behind=place.behind if place else 0,
        verdict=standing.verdict,
        system=standing.system,
        scores=standing.scores,
        date=member.created,
        versions=member.versions,
        series=member.series,
        manifest=member.manifest,
        marks=tuple(map(clean, member.record.remarks)),
        unbeaten=front,
        bundle=f"bundles/{files}.zip",
        report=f"reports/{files}.html",
        audit=f"audits/{files}.html" if has_audit else None,
    )


def _answer(rows: Sequence[Row], ranked_by: str) -> str:
    """Who is ahead, in one sentence."""
    ranked = [row for row in rows if row.place]
    unranked = len(rows) - len(ranked)
    missed = f"; {unranked} missed a target" if unranked else ""
    if not ranked:
        return f"nobody is ranked{missed}"
    if len(ranked) == 1:
        return f"{ranked[0].entry} is alone in {ranked_by}{missed}"
    winner = ranked[0]
    if winner.ahead_of == len(ranked) - 1:
        others = "the other" if len(ranked) == 2 else f"all {len(ranked) - 1} others"
        return f"{winner.entry} is ahead of {others} in {ranked_by}{missed}"
    first = [row for row in ranked if row.behind == 0]
    return f"no winner in {ranked_by}: {len(first)} of {len(ranked)} share the first place{missed}"
