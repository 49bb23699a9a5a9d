"""Who waits for whom among virtual ranks, in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..contracts.transport import Deadlock, Recv, RecvAny
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
    step = request.step
    if isinstance(step, Recv):
        return f"a message from rank {step.source} (tag {step.tag})"
    if isinstance(step, RecvAny):
        return f"a message from any rank (tag {step.tag})"
    return f"{type(step).__name__} (collective number {request.sequence + 1})"


def deadlock(engine: "EventEngine", waiting: Sequence[VirtualRank]) -> Deadlock:
    """The error for ranks that can never go on: the cycle, or the rank whose program has ended."""
    edges = {
        rank.rank: sorted(ranks_waited_for(engine, rank)) for rank in waiting
    }
    for rank in waiting:
        ended = [other for other in edges[rank.rank] if other not in edges]
        if ended and not isinstance(_first_step(rank), RecvAny):
            return Deadlock(
                f"rank {rank.rank} waits for {described(rank)}, and the program of rank {ended[0]} "
                "has ended",
                (rank.rank, ended[0]),
            )
    blocked = _blocked_only(edges)
    cycle = _cycle({rank: others[0] for rank, others in blocked.items()})
    by_rank = {rank.rank: rank for rank in waiting}
    links = [
        f"rank {rank} waits for {described(by_rank[rank])}" for rank in cycle
    ]
    ring = " -> ".join(map(str, [*cycle, cycle[0]]))
    reasons = "; ".join(links[:4])
    return Deadlock(f"deadlock of ranks {ring}: {reasons}", cycle)


def _first_step(rank: VirtualRank) -> object:
    assert rank.blocked is not None
    return rank.unfinished(rank.blocked.handles)[0].step


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
