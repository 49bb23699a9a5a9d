"""Whether a candidate goes on working after its clock has stopped, in another thread or process.

Its CPU time there is measured after one visit and after several in a row: threads that spin for a while before they
sleep use the same after any number of calls, whereas work that was put off grows with it. Standard library only.
"""

import os
import resource
import threading
import time
from collections.abc import Callable

from .machine.host.files import HostFiles, Unavailable
from .sensing.others import descendants, process_seconds

STEP_S = 0.002
QUIET = 0.1  # of a CPU: threads that wake up now and then
LONGEST_S = 0.5  # waited for the end of what goes on
BACKLOG_S = 3.0  # the same, so that it is not taken for the next candidate's
# Of the timed time: what may go on unnoticed, besides the wake-up of a thread.
SHARE = 0.25
WAKE_UP_NS = 100_000
SEVERAL = 4  # visits
RUNNING = (
    "R",
    "D",
)  # states of threads in proc(5): on a CPU or ready for one, in the kernel
CLOCK_OF_PROCESS = 2  # clock_getcpuclockid(3): CPUCLOCK_SCHED


class Background:
    """CPU time of the other threads of this process and of all processes that it started."""

    def __init__(self) -> None:
        self.host = HostFiles()
        self.was_quiet = (
            self.wait()
        )  # threads that the setup started come to rest

    def cpu_ns(self) -> int:
        """So far; processes that nobody waited for are lost when they end."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        children_ns = round((ended.ru_utime + ended.ru_stime) * 1e9)
        for pid in descendants(self.host, "self"):
            children_ns += self._process_ns(int(pid))
        threads_ns = time.process_time_ns() - time.thread_time_ns()
        return threads_ns + children_ns

    def _process_ns(self, pid: int) -> int:
        try:
            return time.clock_gettime_ns((~pid << 3) | CLOCK_OF_PROCESS)
        except OSError:  # it has just ended
            return round(process_seconds(self.host, str(pid)) * 1e9)

    def is_quiet(self) -> bool:
        """Whether next to nothing goes on in the background now, and nothing waits for a CPU either."""
        began_ns = time.monotonic_ns()
        before_ns = self.cpu_ns()
        time.sleep(STEP_S)
        used_ns = self.cpu_ns() - before_ns
        passed_ns = time.monotonic_ns() - began_ns
        return used_ns <= QUIET * passed_ns and not self._is_running()

    def _is_running(self) -> bool:
        """Whether any other thread runs, or could if it got a CPU."""
        own = threading.get_native_id()
        for pid in ("self", *descendants(self.host, "self")):
            for thread in self.host.glob(f"/proc/{pid}/task/[0-9]*"):
                is_own = pid == "self" and thread.endswith(f"/{own}")
                if not is_own and self._state(thread) in RUNNING:
                    return True
        return False

    def _state(self, thread: str) -> str:
        try:
            after_name = self.host.text(f"{thread}/stat").rpartition(")")[2]
        except Unavailable:
            return ""  # it has just ended
        return after_name.split()[0]

    def wait(self, longest_s: float = LONGEST_S) -> bool:
        """Wait until it is quiet, but not for ever; whether it is."""
        until = time.monotonic() + longest_s
        while not self.is_quiet():
            if time.monotonic() > until:
                return False
        return True

    def goes_on(self, visit: Callable[[], int]) -> float:
        """CPU time used after the clock stopped per timed time; 0 for what does not grow with the calls.

        What goes on now is taken for that of earlier calls of the same candidate.
        """
        self.wait()
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
        if growth_ns <= SHARE * visit_ns or growth_ns <= once_ns / SEVERAL:
            return 0.0
        return growth_ns / visit_ns

    def _after(
        self, visit: Callable[[], int], count: int
    ) -> tuple[int, int, bool]:
        """The time of a visit, the CPU time used after the last of so many, and whether that came to an end."""
        times = [visit() for _ in range(count)]
        before_ns = self.cpu_ns()
        ended = self.wait()
        return min(times), self.cpu_ns() - before_ns, ended


def can_be_watched() -> bool:
    """Whether this system lists the descendants of a process and counts their CPU time."""
    thread = f"/proc/self/task/{os.getpid()}/children"
    return os.path.exists(thread)
