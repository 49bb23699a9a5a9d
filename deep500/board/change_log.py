"""The append-only log of a board: which entries were accepted, refused, removed or rescored, when, why, by which rule.

`board.jsonl` in the folder of bundles is a hash chain, as the samples of a bundle are. Every build appends what has
changed since the last one, so that a second build of the same folder appends nothing and gives the same bytes.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..bundle.encoding import PARSE_LIMIT, ZERO, link, unlink
from ..errors import Deep500Error, Wrong
from ..schema import decoded, encoded

LOG = "board.jsonl"
LONGEST_LOG = 1 << 28  # bytes
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


def read_log(folder: Path) -> tuple[list[Change], str]:
    """All changes, and the hash of the last line; raises Wrong if a line was changed, removed or put in."""
    path = folder / LOG
    try:
        if path.stat().st_size > LONGEST_LOG:
            raise Deep500Error(f"{path} has more than {LONGEST_LOG} bytes")
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return [], ZERO
    except OSError as error:
        raise Deep500Error(f"{path} cannot be read: {error.strerror}") from None
    changes = []
    head = ZERO
    for number, line in enumerate(lines, 1):
        where = f"{path}: line {number}"
        head, block = _unlinked(head, line, where)
        changes.append(decoded(Change, block, where))
    return changes, head


def _unlinked(head: str, line: bytes, where: str) -> tuple[str, Mapping[str, object]]:
    try:
        if len(line) > PARSE_LIMIT:
            raise Deep500Error("too long")
        return unlink(head, line)
    except Deep500Error as error:
        raise Wrong(
            f"{where}: {error}: the log was changed after it was written, so no board is built from it"
        ) from None


def append(folder: Path, head: str, changes: Iterable[Change]) -> None:
    """Add lines after the one with this hash, by one write."""
    data = b""
    for change in changes:
        head, line = link(head, encoded(change))
        data += line
    if not data:
        return
    path = folder / LOG
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except OSError as error:
        raise Deep500Error(f"{path} cannot be written: {error.strerror}") from None


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
