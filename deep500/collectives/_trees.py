"""Binomial trees with rank 0 at the root: in every round, each rank that has something gives it to another."""

import numpy as np

from ..contracts.collective import combine
from ..contracts.transport import Program, ReduceOp, Send, Wait, receive, send


def reduce_to_first(
    rank: int, size: int, array: np.ndarray, op: ReduceOp, tag: int
) -> Program:
    """Rank 0 gets the reduction; the arrays of the others are spoilt."""
    has_children = not rank & 1 and rank + 1 < size
    incoming = np.empty_like(array) if has_children else array
    distance = 1
    while distance < size:
        if rank & distance:
            yield from send(rank - distance, array, tag)
            return
        if rank + distance < size:
            yield from receive(rank + distance, incoming, tag)
            combine(op, array, incoming, out=array)
        distance *= 2


def broadcast_from(
    root: int, rank: int, size: int, array: np.ndarray, tag: int
) -> Program:
    """All ranks get the root's array; whoever has the most ranks below it is served first."""
    place = (rank - root) % size
    below = 1
    while below < size and not place & below:
        below *= 2
    if place:
        yield from receive((place - below + root) % size, array, tag)
    handles = []
    distance = below // 2
    while distance:
        if place + distance < size:
            handle = yield Send((place + distance + root) % size, array, tag)
            handles.append(handle)
        distance //= 2
    yield Wait(handles)
