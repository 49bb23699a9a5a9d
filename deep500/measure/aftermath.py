"""Whether a candidate goes on working after its clock has stopped, in another thread or process.

Its CPU time there is measured after one visit and after several in a row: threads that spin for a while before they
sleep use the same after any number of calls, whereas work that was put off grows with it. Standard library only.
"""

import os
import resource
import threading
import time
from collections.abc import Callable

STEP_S = 0.002
QUIET = 0.1  # of a CPU: threads that wake up now and then
LONGEST_S = 0.5  # waited for the end of what goes on
BACKLOG_S = 3.0  # the same, so that it is not taken for the next candidate's
# Of the timed time: what may go on unnoticed, besides the wake-up of a thread.
SHARE = 0.25
WAKE_UP_NS = 100_000
SEVERAL = 4  # visits
# Threads that are woken again while they spin, spin once more: all further visits together add one spin, and a little.
SPINS = 1.2
# states of threads in proc(5): on a CPU or ready for one, and in the kernel
RUNNING = ("R", "D")
CLOCK_OF_PROCESS = 2  # clock_getcpuclockid(3): CPUCLOCK_SCHED


class Background:
    """CPU time of the other threads of this process and of all processes that it started."""

    def cpu_ns(self) -> int:
        """So far; what a process used is lost when it ends and nobody waits for it."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        children_ns = round((ended.ru_utime + ended.ru_stime) * 1e9)
        for pid in _below("self"):
            children_ns += _process_ns(int(pid))
        threads_ns = time.process_time_ns() - time.thread_time_ns()
        return threads_ns + children_ns

    def is_quiet(self) -> bool:
        """Whether next to nothing goes on in the background now, and nothing waits for a CPU either."""
        began_ns = time.monotonic_ns()
        before_ns = self.cpu_ns()
        time.sleep(STEP_S)
        used_ns = self.cpu_ns() - before_ns
        passed_ns = time.monotonic_ns() - began_ns
        return used_ns <= QUIET * passed_ns and not _is_running()

    def wait(self, longest_s: float = LONGEST_S) -> bool:
        """Wait until it is quiet, but not for ever; whether it is."""
        until = time.monotonic() + longest_s
        while not self.is_quiet():
            if time.monotonic() > until:
                return False
        return True

    def goes_on(self, visit: Callable[[], int], visit_ns: int) -> float:
        """CPU time used after the clock stopped per timed time; 0 for what does not grow with the calls.

        What goes on now is taken for that of earlier calls of the same candidate, which took so many ns: if that is
        nothing, no further call is made.
        """
        before_ns = self.cpu_ns()
        self.wait()
        if self.cpu_ns() - before_ns <= SHARE * visit_ns + WAKE_UP_NS:
            return 0.0
        visit_ns, once_ns, ended = self._after(visit, 1)
        if once_ns <= SHARE * visit_ns + WAKE_UP_NS:
            return 0.0
        if not ended:
            return once_ns / visit_ns
        growths = []
        for _ in range(2):
            _, several_ns, ended = self._after(visit, SEVERAL)
            growths.append((several_ns - once_ns) / (SEVERAL - 1))
            if not ended:
                break
            _, again_ns, _ = self._after(visit, 1)
            once_ns = max(once_ns, again_ns)
        growth_ns = min(growths)
        of_spinning = SPINS * once_ns / (SEVERAL - 1)
        if growth_ns <= SHARE * visit_ns or growth_ns <= of_spinning:
            return 0.0
        return growth_ns / visit_ns

    def _after(self, visit: Callable[[], int], count: int) -> tuple[int, int, bool]:
        """The time of a visit, the CPU time used after the last of so many, and whether that came to an end."""
        times = [visit() for _ in range(count)]
        before_ns = self.cpu_ns()
        ended = self.wait()
        return min(times), self.cpu_ns() - before_ns, ended


def _is_running() -> bool:
    """Whether any other thread runs, or could if it got a CPU."""
    own = f"/proc/self/task/{threading.get_native_id()}"
    for pid in ("self", *_below("self")):
        for thread in _threads(pid):
            if thread != own and _state(thread) in RUNNING:
                return True
    return False


def _below(pid: str) -> list[str]:
    """The living processes below this one."""
    below = []
    for thread in _threads(pid):
        for child in _text(f"{thread}/children").split():
            below += [child, *_below(child)]
    return below


def _threads(pid: str) -> list[str]:
    folder = f"/proc/{pid}/task"
    try:
        return [f"{folder}/{thread}" for thread in os.listdir(folder)]
    except OSError:  # it has just ended
        return []


def _state(thread: str) -> str:
    after_name = _text(f"{thread}/stat").rpartition(")")[2]
    return after_name.strip()[:1]


def _text(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:  # it has just ended
        return ""


def _process_ns(pid: int) -> int:
    try:
        return time.clock_gettime_ns((~pid << 3) | CLOCK_OF_PROCESS)
    except OSError:  # it has just ended
        return 0


def can_be_watched() -> bool:
    """Whether this system lists the descendants of a process and counts their CPU time."""
    thread = f"/proc/self/task/{os.getpid()}/children"
    return os.path.exists(thread)
