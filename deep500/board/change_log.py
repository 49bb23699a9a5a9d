"""The append-only log of a board: which entries were accepted, refused, removed or rescored, when, why, by which rule.

`board.jsonl` in the folder of bundles is a hash chain, as the samples of a bundle are. Every build appends what has
changed since the last one, so that a second build of the same folder appends nothing and gives the same bytes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..bundle.chained_log import ChainedLog

LOG = "board.jsonl"
Event = Literal["accepted", "refused", "removed", "rescored"]
ON_THE_BOARD = "accepted", "rescored"


@dataclass(frozen=True)
class Change:
    """One line: what became of an entry."""

    at: str
    event: Event
    entry: str
    reason: str
    rules: str  # the version of the rules by which it was decided
    by: Literal["board", "organiser"] = "board"
    manifest: str | None = None
    score: str = ""


@dataclass(frozen=True)
class Found:
    """What a folder holds of an entry now: its score, or why it is refused."""

    entry: str
    manifest: str | None
    rules: str
    score: str = ""
    refusal: str = ""


def log_of(folder: Path) -> ChainedLog[Change]:
    return ChainedLog(folder / LOG, Change)


def latest(changes: Sequence[Change]) -> dict[str, Change]:
    """The last line about every entry."""
    return {change.entry: change for change in changes}


def new_changes(
    changes: Sequence[Change], found: Sequence[Found], at: str
) -> Iterator[Change]:
    """What has changed in the folder since the last line about each entry."""
    known = latest(changes)
    for entry in found:
        before = known.get(entry.entry)
        verdict = _verdict(before, entry)
        if verdict is None:
            continue
        event, reason = verdict
        yield Change(
            at,
            event,
            entry.entry,
            reason,
            entry.rules,
            manifest=entry.manifest,
            score=entry.score,
        )
    here = {entry.entry for entry in found}
    for name, before in known.items():
        if name not in here and before.event != "removed":
            gone = "its bundle is no longer in the folder"
            yield Change(at, "removed", name, gone, before.rules)


def _verdict(before: Change | None, now: Found) -> tuple[Event, str] | None:
    """The event that follows for an entry, with its reason; None if nothing has changed."""
    if before is not None and is_removed_by_organiser(before, now.manifest):
        return None
    if now.refusal:
        is_known = (
            before is not None
            and before.event == "refused"
            and (before.reason, before.manifest) == (now.refusal, now.manifest)
        )
        return None if is_known else ("refused", now.refusal)
    if before is None:
        return "accepted", "it verifies"
    if before.event not in ON_THE_BOARD:
        return "accepted", f"it verifies; before it was {before.event}: {before.reason}"
    if before.manifest != now.manifest:
        return "rescored", f"its bundle was replaced: it was {before.manifest}"
    if before.score != now.score:
        cause = "the numbers follow by other rules"
        if before.rules != now.rules:
            cause = f"rules {before.rules} became {now.rules}"
        return "rescored", f"{cause}; before: {before.score}"
    return None


def is_removed_by_organiser(change: Change, manifest: str | None) -> bool:
    """Whether an organiser took this very result off the board."""
    if change.event != "removed" or change.by != "organiser":
        return False
    return change.manifest == manifest
