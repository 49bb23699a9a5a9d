"""CPU time that others use: every process but this one and its children, and other guests of the host."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass

from ..machine.host.files import HostFiles, Unavailable, whole

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
BUSY = 0.05  # of the CPUs: what others may use before it is said
SHORTEST_S = 5 * TICK_S  # below, the kernel's ticks say nothing


def allowed_cpus() -> set[int]:
    try:
        return os.sched_getaffinity(0)
    except AttributeError:  # not on every system
        return set(range(os.cpu_count() or 1))


@dataclass(frozen=True)
class Usage:
    """CPU seconds so far, on the CPUs that this process may use."""

    at_s: float
    all_s: float
    own_s: float


class Others:
    """The share of the CPUs that others used between `start` and `share`; None if it cannot be measured."""

    def __init__(self, host: HostFiles | None = None) -> None:
        self.host = host or HostFiles()
        self.cpus = len(allowed_cpus())
        self.start()

    def start(self) -> None:
        self._begin = self._usage()

    def share(self) -> float | None:
        begin = self._begin
        end = self._usage()
        if begin is None or end is None:
            return None
        if end.at_s < begin.at_s + SHORTEST_S:
            return None
        all_s = end.all_s - begin.all_s
        own_s = end.own_s - begin.own_s
        elapsed_s = end.at_s - begin.at_s
        share = (all_s - own_s) / elapsed_s / self.cpus
        return min(max(share, 0.0), 1.0)  # the kernel counts in ticks

    def _usage(self) -> Usage | None:
        now = time.monotonic()
        try:
            return Usage(now, _all_seconds(self.host), own_seconds(self.host))
        except Unavailable:
            return None


def others_now(seconds: float = 0.3) -> float | None:
    """The share of the CPUs that others use, measured over so many seconds."""
    watch = Others()
    time.sleep(seconds)
    return watch.share()


def _all_seconds(host: HostFiles) -> float:
    """CPU seconds of all processes on the allowed CPUs, including interrupts and stolen time."""
    allowed = {f"cpu{number}" for number in allowed_cpus()}
    ticks = 0
    for line in host.text("/proc/stat").splitlines():
        name, *counts = line.split()
        if name in allowed:
            user_nice_system = counts[0:3]
            interrupts_and_stolen = counts[5:8]
            busy = user_nice_system + interrupts_and_stolen
            ticks += sum(map(int, busy))
    return ticks * TICK_S


def tree_cpu_seconds() -> float:
    """CPU seconds of this process and its descendants so far; of this process alone where /proc does not list them."""
    try:
        return own_seconds(HostFiles())
    except Unavailable:
        return time.process_time()


def own_seconds(host: HostFiles) -> float:
    """CPU seconds of this process, its ended children, and its living descendants."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.process_time() + ended.ru_utime + ended.ru_stime
    for pid in _descendants(host, "self"):
        seconds += _process_seconds(host, pid)
    return seconds


def _descendants(host: HostFiles, pid: str) -> list[str]:
    """The living descendants of a process."""
    if not host.exists("/proc/self/task"):
        raise Unavailable("/proc does not list threads")
    children: list[str] = []
    for thread in host.glob(f"/proc/{pid}/task/[0-9]*"):
        children += _children(host, thread)
    below = []
    for child in children:
        below += _descendants(host, child)
    return children + below


def _children(host: HostFiles, thread: str) -> list[str]:
    try:
        return host.text(f"{thread}/children").split()
    except Unavailable:
        if host.exists(thread):
            raise  # a kernel that does not list children
        return []  # the thread has ended


def _process_seconds(host: HostFiles, pid: str) -> float:
    """CPU time of a process and of the children that it has waited for; 0 if it has just ended."""
    path = f"/proc/{pid}/stat"
    try:
        after_name = host.text(path).rpartition(")")[2]
    except Unavailable:
        return 0.0
    fields = after_name.split()  # numbered from 3 in proc(5)
    times = fields[14 - 3 : 18 - 3]
    return sum(whole(ticks, path) for ticks in times) * TICK_S
