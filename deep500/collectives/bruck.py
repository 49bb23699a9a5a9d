"""Bruck's allgather (1997): in every round, ranks send all pieces that they have, up to half of them, twice as far."""

from itertools import pairwise

import numpy as np

from ..contracts.collective import Collective
from ..contracts.collective_cost import CollectiveCost, piece_starts
from ..contracts.transport import Program, exchange


class Bruck(Collective):
    """An allgather in log2 P rounds, for any P, with as few bytes as a ring: for short arrays."""

    def all_gather(self, rank: int, size: int, array: np.ndarray) -> Program:
        starts = piece_starts(len(array), size)
        held = 1  # pieces, from this rank's own one on
        while held < size:
            count = min(held, size - held)
            to, source = (rank - held) % size, (rank + held) % size
            outgoing = _whole(_run(array, starts, rank, count))
            parts = _run(array, starts, source, count)
            incoming = _whole(parts)
            yield from exchange(to, outgoing, source, incoming, self.tag)
            if len(parts) > 1:
                first, second = parts
                first[:] = incoming[: len(first)]
                second[:] = incoming[len(first) :]
            held += count

    def all_gather_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        starts = piece_starts(count, size)
        rounds: list[tuple[int, float]] = []
        copies: list[float] = []
        sent = [0] * size
        held = 1
        while held < size:
            pieces = min(held, size - held)
            lengths = [_length(starts, rank, pieces) for rank in range(size)]
            rounds.append((1, max(lengths) * gamma))
            # several pieces may lie at both ends of the array; a copy is there until the next round
            copies.append(rounds[-1][1] if pieces > 1 else 0)
            sent = [a + b for a, b in zip(sent, lengths, strict=True)]
            held += pieces
        return CollectiveCost(
            messages=len(rounds),
            bytes=max(sent) * gamma,
            memory=max(one + other for one, other in pairwise([0, *copies])),
            rounds=tuple(rounds),
            exchanges=len(rounds),
            exchanged=sum(nbytes for _, nbytes in rounds),
        )


def _run(
    array: np.ndarray, starts: list[int], first: int, count: int
) -> list[np.ndarray]:
    """So many pieces from one on, as a part of the array, or as two where they go on at its beginning."""
    size = len(starts) - 1
    last = first + count
    if last <= size:
        return [array[starts[first] : starts[last]]]
    return [array[starts[first] :], array[: starts[last - size]]]


def _whole(parts: list[np.ndarray]) -> np.ndarray:
    """One array that can be sent; a copy if there are two parts."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _length(starts: list[int], first: int, count: int) -> int:
    """How many elements these pieces have."""
    size = len(starts) - 1
    last = first + count
    if last <= size:
        return starts[last] - starts[first]
    return starts[size] - starts[first] + starts[last - size]
