"""Watches what a submission's processes use together, and ends them when it is too much."""

import os
import threading

from ..supervision.descendants import descendants, end_below, thread_count
from ..supervision.sandbox import MIB, Limits, waiting_in_between

EVERY_S = 0.1
PAGE = os.sysconf("SC_PAGE_SIZE")


class Watch:
    """A thread beside the judge; `excess` says what was too much."""

    def __init__(self, keeper: int, limits: Limits):
        self.keeper = keeper
        self.limits = limits
        self.excess = ""
        self._worker = 0  # the process that waits for the sandbox, once it is ready
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def begin(self, worker: int) -> None:
        """Count processes from now on: the code of a stranger is next. The worker itself is ours and only waits."""
        self._worker = worker

    def _watch(self) -> None:
        while not self._done.wait(EVERY_S):
            processes = descendants(self.keeper)
            self.excess = self._too_much(processes)
            if self.excess:
                end_below(self.keeper)
                return

    def _too_much(self, processes: set[int]) -> str:
        strangers = processes - {self._worker}
        count = sum(map(thread_count, strangers)) - waiting_in_between()
        if self._worker and count > self.limits.processes:
            return f"{count} processes, and {self.limits.processes} are allowed"
        used = sum(map(_resident, processes)) / MIB
        if used > self.limits.memory_mib:
            return f"{used:.0f} MiB of memory, and {self.limits.memory_mib} are allowed"
        return ""


def _resident(pid: int) -> int:
    """The bytes of a process that lie in memory; 0 if it has ended."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * PAGE
    except (OSError, ValueError, IndexError):
        return 0
