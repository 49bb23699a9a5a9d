"""Bytes that are allocated while a piece of code runs: the requested sizes, not resident pages."""

import gc
import tracemalloc
from types import TracebackType
from typing import Self

import numpy as np


class Allocations:
    """`with framework.allocations() as seen:` build, run once, `seen.mark()`, run again; then ask for `seen.peak`.

    `peak` is the most that was in use at once after the mark, of everything that was allocated since the block began.
    This class counts NumPy's arrays.
    """

    def __init__(self) -> None:
        self.peak = 0
        self._host = 0  # bytes of NumPy's arrays at the mark
        self._others = 0  # bytes of Python's objects at the mark

    def __enter__(self) -> Self:
        tracemalloc.start()
        self.mark()
        return self

    def mark(self) -> None:
        """Begin to count for `peak`, after a garbage collection."""
        gc.collect()
        self._host = _bytes_of_arrays()
        current, _ = tracemalloc.get_traced_memory()
        self._others = current - self._host
        tracemalloc.reset_peak()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self.peak = max(self._host, highest - self._others)


def _bytes_of_arrays() -> int:
    only_arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    snapshot = tracemalloc.take_snapshot().filter_traces([only_arrays])
    return sum(trace.size for trace in snapshot.traces)
