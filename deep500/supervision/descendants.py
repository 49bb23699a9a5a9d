"""The processes below one, found in /proc, stopped and ended. Standard library only."""

import os
import signal
import time
from contextlib import suppress

from ..errors import Deep500Error

END_S = 2.0  # for processes that were killed to be gone
PAUSE_S = 0.005
STILL_S = 10.0  # for processes that were told to stop to stand still
LOOK_S = 0.0002
RUNNING = ("R", "S")  # on a CPU or ready for one, and asleep
STOPPED = ("T", "t")
DEAD = ("", "Z", "X")
ENDED = -1  # in place of a CPU time


class StillRunning(Deep500Error):
    """A process that was told to stop goes on."""


def descendants(pid: int) -> set[int]:
    """The living processes below this one; none where there is no /proc."""
    children: dict[int, list[int]] = {}
    for process, parent in _parents().items():
        children.setdefault(parent, []).append(process)
    below: set[int] = set()
    waiting = [pid]
    while waiting:
        its_children = children.get(waiting.pop(), [])
        below.update(its_children)
        waiting += its_children
    return below


def stop_below(pid: int) -> set[int]:
    """Stop the processes below this one, and those that they start meanwhile; `go_on` lets them continue.

    When it returns, no thread of them runs, and none can wake another: two looks in a row have found the same
    processes, all stopped, with the same CPU time. Raises StillRunning if that is not so after ten seconds.
    """
    deadline = time.monotonic() + STILL_S
    last: dict[int, int | None] | None = None
    while True:
        seen = {process: _time_if_still(process) for process in _listed_below(pid)}
        moving = {process for process, spent in seen.items() if spent is None}
        if not moving and seen == last:
            return {process for process, spent in seen.items() if spent != ENDED}
        if time.monotonic() > deadline:
            raise StillRunning("its processes do not all stop when they are told to")
        last = seen
        if moving:
            _signal(moving, signal.SIGSTOP)
            time.sleep(LOOK_S)


def _listed_below(pid: int) -> set[int]:
    """The processes below this one by the kernel's own lists, also those that have just ended.

    Unlike a search of all processes, this takes no longer on a machine that has many. Where the kernel has no such
    lists, all processes are searched.
    """
    below: set[int] = set()
    waiting = [pid]
    while waiting:
        process = waiting.pop()
        for thread in _threads(process):
            children = _children(process, thread)
            if children is None:
                return descendants(pid)
            waiting += children - below
            below |= children
    return below


def _children(process: int, thread: str) -> set[int] | None:
    """The children of a thread; None if this kernel does not list them."""
    folder = f"/proc/{process}/task/{thread}"
    try:
        with open(f"{folder}/children") as file:
            return {int(word) for word in file.read().split()}
    except OSError:
        # the thread may have ended
        return None if os.path.exists(folder) else set()


def _time_if_still(pid: int) -> int | None:
    """The CPU time of a stopped process in nanoseconds; ENDED, or None if it is not stopped."""
    states = _states(pid)
    if not states:
        return ENDED
    # A thread that waits in the kernel ("D") stops before it runs its own code, if it is the only one or another one
    # has met the signal.
    is_told = len(states) == 1 or any(state in STOPPED for state in states)
    if not is_told or any(state in RUNNING for state in states):
        return None
    return _cpu_ns(pid)


def _cpu_ns(pid: int) -> int:
    """The CPU time of all threads of a process in nanoseconds, or ENDED."""
    clock = (~pid << 3) | 2  # as clock_getcpuclockid of the C library has it
    try:
        return time.clock_gettime_ns(clock)
    except OSError:
        return ENDED


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:  # it has ended
        return []


def _states(pid: int) -> list[str]:
    """The states of its threads that have not ended; the first one may have ended before the others."""
    states = [_state(f"{pid}/task/{thread}")[0] for thread in _threads(pid)]
    return [state for state in states if state not in DEAD]


def thread_count(pid: int) -> int:
    """How many threads a process has; 0 if it has ended."""
    return len(_states(pid))


def _told_to_stop(pid: int) -> set[int]:
    told: set[int] = set()
    while running := descendants(pid) - told:
        _signal(running, signal.SIGSTOP)
        told |= running
    return told


def go_on(stopped: set[int]) -> None:
    _signal(stopped, signal.SIGCONT)


def end_below(pid: int) -> None:
    """Kill the processes below this one. All are stopped first, so that none starts another meanwhile."""
    _signal(_told_to_stop(pid), signal.SIGKILL)


def end_children() -> None:
    """Kill whatever runs below this process, and wait for its end."""
    deadline = time.monotonic() + END_S
    while _has_children() and time.monotonic() < deadline:
        end_below(os.getpid())
        time.sleep(PAUSE_S)


def end_other_sessions() -> None:
    """Kill whatever below this process belongs to another session, and wait for its end.

    What we have adopted does; helpers of a library in this process do not.
    """
    deadline = time.monotonic() + END_S
    while (strangers := _strangers()) and time.monotonic() < deadline:
        for pid in strangers:
            end_below(pid)
        _signal(strangers, signal.SIGKILL)
        _reap(strangers)
        time.sleep(PAUSE_S)


def _strangers() -> set[int]:
    """The children of this process that belong to another session."""
    if not _any_child():
        return set()
    this_process = os.getpid()
    session = os.getsid(0)
    strangers = set()
    for process, parent in _parents().items():
        if parent != this_process:
            continue
        if _session_of(process) not in (session, None):
            strangers.add(process)
    return strangers


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def _any_child() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _has_children() -> bool:
    """Whether a process is left below this one, after all that have ended are waited for."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _reap(processes: set[int]) -> None:
    for pid in processes:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _parents() -> dict[int, int]:
    """The parent of every process that has not ended."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return {}
    parents = {}
    for name in filter(str.isdigit, names):
        state, parent = _state(name)
        # a process lives on in its other threads when its first one has ended
        if state not in DEAD or (state == "Z" and _states(int(name))):
            parents[int(name)] = parent
    return parents


def _state(name: str) -> tuple[str, int]:
    """The state of a process or thread, and its parent; an empty state if it has ended."""
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            after_name = file.read().rpartition(b")")[2]
    except OSError:  # it has ended meanwhile
        return "", 0
    fields = after_name.split()
    return fields[0].decode(), int(fields[1])


def _signal(processes: set[int], number: signal.Signals) -> None:
    for pid in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
