"""Schedules of well-known patterns for millions of ranks, made as arrays."""

import numpy as np

from ..contracts.collective_cost import rounds_to_all
from ..errors import Deep500Error
from .schedule import NODE, RANK, RECV, SEND, MessageSchedule


def dissemination(ranks: int, nbytes: int = 1) -> MessageSchedule:
    """A barrier: in round k every rank sends to the one 2^k further on, once it has what was sent to it before."""
    if ranks < 1:
        raise Deep500Error(f"a dissemination over {ranks} ranks: give 1 or more")
    rounds = rounds_to_all(ranks)
    return _rounds(ranks, nbytes, 1 << np.arange(rounds))


def ring(ranks: int, nbytes: int, rounds: int) -> MessageSchedule:
    """In every round each rank sends to the next one, once it has what was sent to it before."""
    return _rounds(ranks, nbytes, np.ones(rounds, np.int64))


def _rounds(ranks: int, nbytes: int, distances: np.ndarray) -> MessageSchedule:
    """In every round each rank sends so far, and receives from as far behind it."""
    rounds = len(distances)
    own = np.arange(ranks)[:, None]
    nodes = np.zeros((ranks, rounds, 2), NODE)
    nodes["packed"] = nbytes
    nodes["peer"][..., 0] = (own + distances) % ranks
    nodes["peer"][..., 1] = (own - distances) % ranks
    nodes["tag"] = np.arange(rounds)[:, None]
    nodes["state"][..., 0] = SEND << 30
    nodes["state"][..., 1] = RECV << 30
    # a receive lets both operations of the next round begin
    nodes["first"] = 2 * np.arange(rounds)[:, None]
    each = max(2 * rounds - 2, 0)
    edges = np.tile(np.arange(2, 2 + each, dtype=np.uint32), ranks)
    rows = np.zeros(ranks, RANK)
    rows["node"] = np.arange(ranks) * 2 * rounds
    rows["nodes"] = 2 * rounds
    rows["edge"] = np.arange(ranks) * each
    rows["edges"] = each
    return MessageSchedule(nodes.reshape(-1), edges, rows)
