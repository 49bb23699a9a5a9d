"""Who waits for whom, in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..contracts.transport import Deadlock, Recv, RecvAny, Send
from ._requests import PendingRequest, VirtualRank

if TYPE_CHECKING:
    from ._event_engine import EventEngine


def ranks_waited_for(engine: "EventEngine", rank: VirtualRank) -> set[int]:
    """The ranks without which a blocked rank cannot go on."""
    assert rank.blocked is not None
    missing: set[int] = set()
    for request in rank.unfinished(rank.blocked.handles):
        step = request.step
        if isinstance(step, Recv):
            missing.add(step.source)
        elif isinstance(step, Send):
            missing.add(step.to)
        elif isinstance(step, RecvAny):
            missing |= engine.ranks.keys() - {rank.rank}
        else:
            called = engine.collectives.get(request.sequence, {})
            missing |= engine.ranks.keys() - called.keys()
    return missing


def described(rank: VirtualRank) -> str:
    """What a blocked rank waits for, in words."""
    assert rank.blocked is not None
    requests = rank.unfinished(rank.blocked.handles)
    return " and ".join(_described_request(request) for request in requests[:3])


def _described_request(request: PendingRequest) -> str:
    return described_step(request.step, request.sequence)


def described_step(step: object, number: int) -> str:
    """What a step waits for, in words; the number is that of a collective."""
    if isinstance(step, Recv):
        return f"a message from rank {step.source} (tag {step.tag})"
    if isinstance(step, RecvAny):
        return f"a message from any rank (tag {step.tag})"
    if isinstance(step, Send):
        return f"rank {step.to} to receive a message (tag {step.tag})"
    return f"{type(step).__name__} (collective number {number + 1})"


@dataclass(frozen=True)
class Blocked:
    """A rank that waits: for which ranks, for what in words, and whether a message of any of them would do."""

    waits_for: frozenset[int]
    reason: str
    any_rank: bool = False


def blocked_virtual(engine: "EventEngine", rank: VirtualRank) -> Blocked:
    """What a virtual rank waits for."""
    assert rank.blocked is not None
    first = rank.unfinished(rank.blocked.handles)[0].step
    waits_for = frozenset(ranks_waited_for(engine, rank))
    return Blocked(waits_for, described(rank), isinstance(first, RecvAny))


def deadlock(waiting: Mapping[int, Blocked]) -> Deadlock | None:
    """The error for ranks that can never go on: the cycle, or the rank whose program has ended; None if they can."""
    edges = {rank: sorted(blocked.waits_for) for rank, blocked in waiting.items()}
    for rank, blocked in waiting.items():
        ended = [other for other in edges[rank] if other not in edges]
        if ended and not blocked.any_rank:
            return Deadlock(
                f"rank {rank} waits for {blocked.reason}, and the program of rank {ended[0]} has ended",
                (rank, ended[0]),
            )
    blocked_edges = _blocked_only(edges)
    cycle = _cycle({rank: others[0] for rank, others in blocked_edges.items()})
    if not waiting[cycle[0]].waits_for:
        return None
    links = [f"rank {rank} waits for {waiting[rank].reason}" for rank in cycle]
    ring = " -> ".join(map(str, [*cycle, cycle[0]]))
    reasons = "; ".join(links[:4])
    return Deadlock(f"deadlock of ranks {ring}: {reasons}", cycle)


def _blocked_only(edges: dict[int, list[int]]) -> dict[int, list[int]]:
    """The same edges between ranks that are blocked; a rank that waits for none of those waits for itself."""
    blocked = {}
    for rank, others in edges.items():
        blocked_others = [other for other in others if other in edges]
        blocked[rank] = blocked_others or [rank]
    return blocked


def _cycle(next_rank: dict[int, int]) -> list[int]:
    """The ring that one comes to by going from rank to rank."""
    rank = min(next_rank)
    path: list[int] = []
    while rank not in path:
        path.append(rank)
        rank = next_rank[rank]
    return path[path.index(rank) :]
