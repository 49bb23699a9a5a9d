"""Prefetches batches; they are the same, in the same order, for every number of workers."""

from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Literal

import numpy as np

from ...contracts.dataset import Split
from ...errors import Deep500Error
from .ring import SharedRing
from .threads import read_in_threads
from .worker import LoaderWorker, ReadingFailed

Batch = dict[str, np.ndarray]
AHEAD = 2  # batches that every worker is asked for in advance
# further slots, for the batch that the user has now and the one before
SPARE = 2
MOST_WORKERS = 256


class Loader:
    """Reads the batches of a split in `workers` processes or threads; with 0 workers, in the caller, on demand.

    Processes read into shared memory, which holds the arrays of a batch: they stay valid as long as you refer to them.
    If you keep many batches, you get copies. A batch is a pure function of its indices and the epoch, so the number
    of workers affects only the time. If a worker dies, or does not answer for `timeout_s`, a Deep500Error names it.
    `close`, or the end of a `with` block, ends the workers.
    """

    def __init__(
        self,
        split: Split,
        workers: int = 0,
        kind: Literal["processes", "threads"] = "processes",
        timeout_s: float = 120.0,
    ):
        self._ring: SharedRing | None = None
        self._processes: list[LoaderWorker] = []
        self._reading: object = None
        if not 0 <= workers <= MOST_WORKERS:
            raise Deep500Error(
                f"workers is {workers}: give a number from 0 to {MOST_WORKERS}"
            )
        if kind not in ("processes", "threads"):
            raise Deep500Error(f"workers are 'processes' or 'threads', not {kind!r}")
        if not timeout_s > 0:
            raise Deep500Error(f"timeout_s is {timeout_s}: give more than 0 seconds")
        self.split = split
        self.workers = workers
        self.kind = kind
        self.timeout_s = timeout_s

    def batches(self, indices: Iterable[np.ndarray], epoch: int = 0) -> Iterator[Batch]:
        """The batches of these index arrays, in order. Starting an iterator invalidates the previous one."""
        if not self.workers:
            return (self.split.batch(rows, epoch) for rows in indices)
        if self.kind == "threads":
            return read_in_threads(
                self.split, indices, epoch, self.workers, self.timeout_s
            )
        return self._read_in_processes(iter(indices), epoch)

    def close(self) -> None:
        """End the workers."""
        processes = self._processes
        self._processes = []
        for worker in processes:
            worker.stop()
        self._ring = None

    def __enter__(self) -> "Loader":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _read_in_processes(
        self, indices: Iterator[np.ndarray], epoch: int
    ) -> Iterator[Batch]:
        reading = self._reading = object()
        waiting: deque[tuple[LoaderWorker, int]] = deque()
        most_waiting = AHEAD * self.workers
        self._take_back()
        for turn, rows in enumerate(indices):
            while waiting and (len(waiting) == most_waiting or self._too_large(rows)):
                worker, count = waiting.popleft()
                yield self._hand_over(reading, worker, count)
            if self._too_large(rows):
                self._start(len(rows))
            worker = self._processes[turn % self.workers]
            self._ask(worker, np.asarray(rows), epoch)
            waiting.append((worker, len(rows)))
        while waiting:
            worker, count = waiting.popleft()
            yield self._hand_over(reading, worker, count)

    def _too_large(self, rows: np.ndarray) -> bool:
        """Whether new workers are needed: for the first batch, and for one that is larger than all before it."""
        return self._ring is None or len(rows) > self._ring.capacity

    def _start(self, capacity: int) -> None:
        self.close()
        slots = AHEAD * self.workers + SPARE
        self._ring = SharedRing(self.split.specs, max(1, capacity), slots)
        workers = []
        for number in range(1, self.workers + 1):
            workers.append(LoaderWorker(number, self.split, self._ring))
        for worker in workers:
            worker.start(workers)
            self._processes.append(worker)

    def _take_back(self) -> None:
        """Wait for the batches that an earlier iterator has requested but not consumed, and free their slots."""
        for worker in self._processes:
            while worker.asked and self._ring:
                try:
                    slot = worker.answer(self.timeout_s)
                except ReadingFailed as failure:
                    slot = failure.slot
                self._ring.free.append(slot)

    def _ask(self, worker: LoaderWorker, rows: np.ndarray, epoch: int) -> None:
        assert self._ring is not None
        count = len(rows)
        slot = self._ring.free.popleft()
        self._ring.indices(slot, count)[:] = rows
        worker.ask(slot, count, epoch)

    def _hand_over(self, reading: object, worker: LoaderWorker, count: int) -> Batch:
        if self._reading is not reading or self._ring is None:
            raise Deep500Error(
                "this iterator cannot go on: its loader was closed, or another iterator was begun"
            )
        try:
            slot = worker.answer(self.timeout_s)
        except ReadingFailed as failure:
            self._ring.free.append(failure.slot)
            raise Deep500Error(str(failure)) from None
        except Deep500Error:
            self.close()
            raise
        ring = self._ring
        asked = sum(worker.asked for worker in self._processes)
        lent = ring.slots - len(ring.free) - asked  # including this one
        if lent <= SPARE:
            return ring.lend(slot, count)
        return ring.copy(slot, count)
