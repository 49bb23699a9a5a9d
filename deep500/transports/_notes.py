"""What ranks that cannot go on tell each other, and what follows from it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from ..contracts.transport import (
    CollectiveMismatch,
    JointFailure,
    MessageMismatch,
    OtherRankFailed,
)
from ._blocking import Blocked, deadlock
from ._fingerprints import check_fingerprints
from ._forms import other_form_text


@dataclass(frozen=True)
class Note:
    """Of a rank: the error with which it ends, or what it waits for.

    run            How many programs it has begun.
    collectives    How many collectives of this program it has begun.
    number         The collective that it waits for, from 0; -1 if it waits for a message.
    form, tag      Of the message that it waits for.
    sends          (to, tag, form) of the messages that nobody has received yet.
    """

    rank: int
    error: str = ""
    reason: str = ""
    waits_for: tuple[int, ...] = ()
    any_rank: bool = False
    run: int = 0
    collectives: int = 0
    number: int = -1
    fingerprint: str = ""
    form: str = ""
    tag: int = 0
    sends: tuple[tuple[int, int, str], ...] = ()

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Note":
        document = json.loads(text)
        document["waits_for"] = tuple(document["waits_for"])
        document["sends"] = tuple(map(tuple, document["sends"]))
        return cls(**document)


def failure(notes: Mapping[int, Note], size: int) -> JointFailure | None:
    """What all notes together say is wrong; None if a note is missing, or if everyone is merely late."""
    found = _failure(notes, size)
    if found is not None and found.reported_by is None:
        found.reported_by = min(notes)
    return found


def _failure(notes: Mapping[int, Note], size: int) -> JointFailure | None:
    for rank in sorted(notes):
        if notes[rank].error:
            found = OtherRankFailed(notes[rank].error, [rank])
            found.reported_by = rank
            return found
    if len(notes) < size:
        return None
    # ranks that have begun a later program have ended this one
    run = min(note.run for note in notes.values())
    waiting = {rank: note for rank, note in notes.items() if note.run == run}
    try:
        _check_collectives(waiting)
    except CollectiveMismatch as mismatch:
        return mismatch
    if other := _other_message(waiting):
        return other
    blocked = {}
    for rank in sorted(waiting):
        note = waiting[rank]
        blocked[rank] = Blocked(_waits_for(note, notes), note.reason, note.any_rank)
    return deadlock(blocked)


def _other_message(waiting: Mapping[int, Note]) -> JointFailure | None:
    """The error for a rank that waits for a message of one form where one of another form has been sent to it."""
    for rank, note in sorted(waiting.items()):
        if not note.form:
            continue
        for source in note.waits_for:
            forms = _sent_forms(waiting.get(source), rank, note.tag)
            if forms and note.form not in forms:
                channel = source, note.tag
                text = other_form_text(rank, note.form, channel, forms[0])
                return MessageMismatch(text)
    return None


def _sent_forms(note: Note | None, to: int, tag: int) -> list[str]:
    """The forms of the messages to a rank that it has not received."""
    sends = note.sends if note is not None else ()
    return [form for other, other_tag, form in sends if (other, other_tag) == (to, tag)]


def _check_collectives(waiting: Mapping[int, Note]) -> None:
    """Refuse ranks that wait for the same collective in different forms."""
    by_number: dict[int, dict[int, str]] = {}
    for rank, note in waiting.items():
        if note.number >= 0:
            by_number.setdefault(note.number, {})[rank] = note.fingerprint
    for number, fingerprints in by_number.items():
        check_fingerprints(fingerprints, number)


def _waits_for(note: Note, notes: Mapping[int, Note]) -> frozenset[int]:
    if note.number < 0:
        return frozenset(note.waits_for)
    absent = set()
    for rank, other in notes.items():
        has_called = other.collectives > note.number
        if other.run != note.run or not has_called:
            absent.add(rank)
    return frozenset(absent - {note.rank})
