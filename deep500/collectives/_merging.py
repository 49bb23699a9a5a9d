"""Sums of sparse streams: inner loops in C++, with the same bits by NumPy where there is no compiler."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..contracts.collective import FUNCTIONS
from ..contracts.sparse_stream import INDEX, SparseStream, most_sparse
from ..contracts.transport import ReduceOp
from ..custom.loops import Loops, width

LOOPS = Loops(Path(__file__).with_name("_merging.cpp"))
FLOATS = (np.float32, np.float64)


def merged(
    lower: SparseStream, higher: SparseStream, op: ReduceOp = "sum"
) -> SparseStream:
    """The sum of two streams, that of the lower rank first; streams of other operations are dense."""
    if lower.indices is not None and higher.indices is not None:
        most = most_sparse(lower.size, lower.dtype)
        if max(lower.entries, higher.entries) <= most:
            return _merged_sparse(lower, higher).shorter()
    total = lower.dense()
    if higher.indices is None:
        FUNCTIONS[op](total, higher.values, out=total)
    else:
        _add(higher, total)
    return SparseStream(lower.size, total)


def merged_in_order(
    streams: Sequence[SparseStream], op: ReduceOp = "sum"
) -> SparseStream:
    """The sum of all, in pairs of neighbours, so that no entry is copied more than log2 P times."""
    level = list(streams)
    while len(level) > 1:
        pairs = [
            merged(level[place], level[place + 1], op)
            for place in range(0, len(level) - 1, 2)
        ]
        level = pairs + level[2 * len(pairs) :]
    return level[0]


def _merged_sparse(lower: SparseStream, higher: SparseStream) -> SparseStream:
    most = lower.entries + higher.entries
    indices = np.empty(most, INDEX)
    values = np.empty(most, lower.dtype)
    count = np.zeros(1, np.int64)
    parts = (*_parts(lower), *_parts(higher))
    if LOOPS.call(_loop("merge", lower), *parts, indices, values, count):
        [entries] = count
        return SparseStream(lower.size, values[:entries], indices[:entries])
    return _merged_by_numpy(lower, higher)


def _parts(stream: SparseStream) -> tuple[int, np.ndarray | None, np.ndarray]:
    return stream.entries, stream.indices, stream.values


def _loop(name: str, stream: SparseStream) -> str:
    """The name of a loop; empty for dtypes that have none."""
    return f"{name}{width(stream.dtype)}" if stream.dtype in FLOATS else ""


def _merged_by_numpy(lower: SparseStream, higher: SparseStream) -> SparseStream:
    both = np.concatenate([np.asarray(s.indices) for s in (lower, higher)])
    order = np.argsort(both, kind="stable")
    indices = both[order]
    values = np.concatenate([lower.values, higher.values])[order]
    is_first = np.ones(indices.size, bool)
    np.not_equal(indices[1:], indices[:-1], out=is_first[1:])
    again = np.flatnonzero(~is_first)
    # an entry of both streams comes twice, the lower rank's first
    values[again - 1] += values[again]
    values += values.dtype.type(0)  # -0 is 0, as in C++
    return SparseStream(lower.size, values[is_first], indices[is_first])


def _add(stream: SparseStream, total: np.ndarray) -> None:
    if not LOOPS.call(_loop("add", stream), *_parts(stream), total):
        total[stream.indices] += stream.values
