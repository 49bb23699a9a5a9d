"""The durations of repeated calls, in bounded memory."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

Path = tuple[str, ...]  # the names of nested regions, outermost first

KEPT = 1024


class Durations:
    """Exact count, total, minimum and maximum, and every `stride`-th duration in `kept`.

    When `kept` is full, every second one goes and the stride doubles: a uniform thinning of all time.
    """

    __slots__ = (
        "count",
        "high",
        "kept",
        "low",
        "open",
        "raised",
        "stride",
        "total",
    )

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.low = math.inf
        self.high = -math.inf
        self.kept = array("d")
        self.stride = 1
        self.raised = 0  # of the calls counted, how many ended in an exception
        # calls that go on: their time so far is in `total`, and nowhere else
        self.open = 0

    def add(self, seconds: list[float]) -> None:
        low = min(seconds, default=0.0)
        # another thread's clear moved the start of a call that just ended
        if low < 0:
            return self.add([value for value in seconds if value >= 0])
        if seconds:
            self._keep(seconds, 1)
            self.count += len(seconds)
            self.total += sum(seconds)
            self.low = min(self.low, low)
            self.high = max(self.high, max(seconds))

    def join(self, other: Durations) -> None:
        """Merge the durations of another, as if they had come after those already here."""
        self._keep(other.kept, other.stride)
        self.count += other.count
        self.total += other.total
        self.low = min(self.low, other.low)
        self.high = max(self.high, other.high)
        self.raised += other.raised
        self.open += other.open

    def _keep(self, values: Sequence[float], stride: int) -> None:
        """Keep a thinning of `values`, which are already `stride` calls apart, with the stride of what is kept."""
        while self.stride < stride:
            self._halve()
        calls_to_next = -self.count % self.stride
        first = -(-calls_to_next // stride)  # rounded up
        step = self.stride // stride
        self.kept.extend(values[first::step])
        while len(self.kept) > KEPT:
            self._halve()

    def _halve(self) -> None:
        del self.kept[1::2]
        self.stride *= 2
