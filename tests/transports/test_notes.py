"""What follows from the notes of ranks that cannot go on."""

from dataclasses import replace

import pytest

from deep500.contracts.transport import (
    CollectiveMismatch,
    Deadlock,
    MessageMismatch,
    OtherRankFailed,
)
from deep500.transports._notes import Note, failure


def receiving(rank: int, source: int, run: int = 1) -> Note:
    reason = f"a message from rank {source} (tag 0)"
    return Note(rank, reason=reason, waits_for=(source,), run=run)


def reducing(rank: int, number: int = 0, form: str = "AllReduce", run: int = 1) -> Note:
    reason = f"{form} (collective number {number + 1})"
    return Note(
        rank,
        reason=reason,
        run=run,
        collectives=number + 1,
        number=number,
        fingerprint=form,
    )


def notes(*all_notes: Note) -> dict[int, Note]:
    return {note.rank: note for note in all_notes}


def test_a_note_survives_its_text() -> None:
    note = replace(receiving(3, 1), form="int8[1]", sends=((1, 2, "int8[2]"),))
    assert Note.from_json(note.to_json()) == note


def test_an_error_explains_everything_else() -> None:
    found = failure(notes(receiving(0, 1), Note(1, error="it broke")), size=3)
    assert isinstance(found, OtherRankFailed)
    assert (str(found), found.ranks, found.reported_by) == ("it broke", (1,), 1)


def test_nothing_follows_while_a_rank_is_missing() -> None:
    assert failure(notes(receiving(0, 1)), size=2) is None


def test_ranks_that_wait_for_each_other() -> None:
    found = failure(notes(receiving(0, 1), receiving(1, 0)), size=2)
    assert isinstance(found, Deadlock) and found.cycle == (0, 1)
    assert found.reported_by == 0


def test_a_rank_that_never_calls_a_collective() -> None:
    found = failure(notes(reducing(0, 2), receiving(1, 0)), size=2)
    assert isinstance(found, Deadlock)
    assert "rank 0 waits for AllReduce (collective number 3)" in str(found)


def test_different_collectives() -> None:
    found = failure(notes(reducing(0, 2), reducing(1, 2, "Barrier")), size=2)
    assert isinstance(found, CollectiveMismatch)
    assert "number 3 is AllReduce on rank 0 and Barrier on rank 1" in str(found)


def sent(rank: int, to: int, *forms: str) -> Note:
    """A rank that waits for another to receive messages of these forms."""
    sends = tuple((to, 0, form) for form in forms)
    return Note(rank, reason="a send", waits_for=(to,), run=1, sends=sends)


def test_a_message_of_another_form() -> None:
    waiting = replace(receiving(1, 0), form="float32[4]")
    found = failure(notes(sent(0, 1, "float32[3]"), waiting), size=2)
    assert isinstance(found, MessageMismatch)
    line = "rank 1 expects float32[4] from rank 0 (tag 0), which sent float32[3]"
    assert (str(found), found.reported_by) == (line, 0)


@pytest.mark.parametrize(
    "sender",
    [
        sent(0, 1, "float32[3]", "float32[4]"),
        sent(0, 2, "float32[3]"),
        sent(0, 1),
    ],
    ids=["behind another", "to another rank", "nothing"],
)
def test_a_message_of_the_right_form_may_be_late(sender: Note) -> None:
    waiting = replace(receiving(1, 0), form="float32[4]")
    found = failure(notes(sender, waiting), size=2)
    assert not isinstance(found, MessageMismatch)


def test_a_program_that_has_ended() -> None:
    found = failure(notes(receiving(0, 1), reducing(1, run=2)), size=2)
    assert (
        "rank 0 waits for a message from rank 1 (tag 0), and the program of rank 1 has ended"
        in str(found)
    )


def test_ranks_that_are_merely_late() -> None:
    assert failure(notes(reducing(0), reducing(1)), size=2) is None


@pytest.mark.parametrize("size", [2, 5])
def test_everyone_waits_for_the_next(size: int) -> None:
    ring = [receiving(rank, (rank + 1) % size) for rank in range(size)]
    found = failure(notes(*ring), size)
    assert isinstance(found, Deadlock) and found.cycle == tuple(range(size))
