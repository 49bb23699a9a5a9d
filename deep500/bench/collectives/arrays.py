"""Arrays whose reductions are known exactly, and the programs that every operation runs on them."""

from typing import Any

import numpy as np

from ...contracts.collective import Collective
from ...contracts.collective_cost import piece_starts
from ...contracts.transport import Program

PERIOD = 7  # of the values; with so small ones, sums over hundreds of ranks are exact


def source(rank: int, count: int, dtype: str) -> np.ndarray:
    """What a rank gives: small whole numbers that differ from rank to rank."""
    return (np.arange(count) % PERIOD + rank).astype(dtype)


def operation_program(
    collective: Collective, operation: str, rank: int, size: int, array: np.ndarray
) -> Program:
    """One operation; the value is what this rank has got."""
    if operation == "all_to_all":
        outgoing = np.array_split(array, size)
        incoming = [np.empty_like(outgoing[rank]) for _ in range(size)]
        yield from collective.all_to_all(rank, size, outgoing, incoming)
        return incoming
    value = yield from getattr(collective, operation)(rank, size, array)
    return value if operation == "reduce_scatter" else array


def right_result(operation: str, rank: int, size: int, count: int, dtype: str) -> Any:
    """What a rank must have got."""
    starts = piece_starts(count, size)
    own = slice(starts[rank], starts[rank + 1])
    first = source(0, count, dtype)
    if operation == "broadcast":
        return first
    total = size * first + np.asarray(size * (size - 1) // 2, dtype)
    if operation == "all_reduce":
        return total
    if operation == "reduce_scatter":
        return total[own]
    if operation == "all_to_all":
        return [source(other, count, dtype)[own] for other in range(size)]
    pieces = []
    for other in range(size):
        piece = slice(starts[other], starts[other + 1])
        pieces.append(source(other, count, dtype)[piece])
    return np.concatenate(pieces)


def is_right(result: Any, right: Any) -> bool:
    """Whether all elements are exactly those that they must be."""
    if isinstance(right, list):
        pairs = zip(result, right, strict=True)
        return all(np.array_equal(got, wanted) for got, wanted in pairs)
    return np.array_equal(result, right)
