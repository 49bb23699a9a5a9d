"""Why a simulation could not go on, in words: who waits for whom, and the circle in which they do."""

from ..contracts.transport import Deadlock
from ..errors import Deep500Error
from .outcome import (
    CIRCLE,
    DIED,
    FINISHED,
    LEFT_OVER,
    NOT_RECEIVED,
    UNMATCHED,
    BlockedRanks,
)
from .schedule import ANY, LARGEST, MessageSchedule

SHOWN = 4  # ranks of a circle whose reasons are told
LONGEST_RING = 8  # ranks of a circle that are listed


def check_finished(schedule: MessageSchedule, blocked: BlockedRanks | None) -> None:
    """Raise a Deadlock, or another Deep500Error, if not all ranks have finished and all messages were received."""
    if blocked is None:
        return
    waiting = _Waiting(schedule, blocked)
    dead = [rank for rank in waiting.ranks if waiting.reason(rank) == DIED]
    left_over = [rank for rank in waiting.ranks if waiting.reason(rank) == LEFT_OVER]
    stuck = [r for r in waiting.ranks if waiting.reason(r) not in (DIED, LEFT_OVER)]
    if stuck:
        raise _deadlock(waiting, stuck)
    if dead:
        named = _some(dead)
        raise Deadlock(
            f"rank {named} died before it had finished, and no other rank waits for it",
            dead[:LONGEST_RING],
        )
    rank = left_over[0]
    message = waiting.operation(rank)
    more = len(left_over) - 1
    others = f"; messages of {more} more ranks are left over, too" if more else ""
    raise Deep500Error(
        f"rank {rank} sent {message.size} bytes to rank {message.peer}{message.with_tag}, "
        f"which never received them{others}"
    )


class _Operation:
    def __init__(self, schedule: MessageSchedule, node: int):
        packed, peer, tag, _, _ = schedule.nodes[node].tolist()
        self.size = packed & LARGEST
        self.peer = peer
        self.with_tag = " (any tag)" if tag == ANY else f" (tag {tag})"


class _Waiting:
    """The ranks that have not finished, and what each waits for."""

    def __init__(self, schedule: MessageSchedule, blocked: BlockedRanks):
        self.schedule = schedule
        self.blocked = blocked
        self.ranks: list[int] = blocked.reason.nonzero()[0].tolist()

    def reason(self, rank: int) -> int:
        return int(self.blocked.reason[rank])

    def operation(self, rank: int) -> _Operation:
        return _Operation(self.schedule, int(self.blocked.node[rank]))

    def other(self, rank: int) -> int | None:
        """The rank that it waits for; None if any would do, or none can help."""
        if self.reason(rank) not in (UNMATCHED, NOT_RECEIVED):
            return None
        peer = self.operation(rank).peer
        return None if peer == ANY else peer

    def words(self, rank: int) -> str:
        reason = self.reason(rank)
        if reason == CIRCLE:
            return f"rank {rank} has operations that wait for each other"
        if reason == DIED:
            return f"rank {rank} died"
        operation = self.operation(rank)
        if reason == NOT_RECEIVED:
            return (
                f"rank {rank} waits for rank {operation.peer} to receive {operation.size} bytes{operation.with_tag}, "
                "which are too long to be sent without that"
            )
        source = f"rank {operation.peer}"
        if operation.peer == ANY:
            source = "any rank"
        return f"rank {rank} waits for a message from {source}{operation.with_tag}"


def _deadlock(waiting: _Waiting, stuck: list[int]) -> Deadlock:
    """Follow one rank to the next until one comes again, or nobody can help any more."""
    path: dict[int, None] = {}
    rank = stuck[0]
    while rank not in path:
        path[rank] = None
        other = waiting.other(rank)
        if other is None:
            return Deadlock(_and_more(waiting.words(rank), path, stuck), [rank])
        if waiting.reason(other) in (FINISHED, LEFT_OVER):
            words = f"{waiting.words(rank)}, and rank {other} has ended"
            return Deadlock(_and_more(words, path, stuck), (rank, other))
        if waiting.reason(other) == DIED:
            words = f"{waiting.words(rank)}, and rank {other} died"
            return Deadlock(_and_more(words, path, stuck), (rank, other))
        rank = other
    ranks = list(path)
    circle = ranks[ranks.index(rank) :]
    ring = " -> ".join(map(str, circle[:LONGEST_RING]))
    if len(circle) > LONGEST_RING:
        ring += f" -> … ({len(circle)} ranks)"
    reasons = "; ".join(waiting.words(one) for one in circle[:SHOWN])
    words = f"deadlock of ranks {ring} -> {circle[0]}: {reasons}"
    return Deadlock(_and_more(words, dict.fromkeys(circle), stuck), circle)


def _and_more(words: str, told: dict[int, None], stuck: list[int]) -> str:
    others = len(stuck) - len(told)
    return f"{words}; {others} more ranks are blocked" if others > 0 else words


def _some(ranks: list[int]) -> str:
    shown = ", ".join(map(str, ranks[:LONGEST_RING]))
    return shown + (", …" if len(ranks) > LONGEST_RING else "")
