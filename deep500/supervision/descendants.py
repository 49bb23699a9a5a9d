"""The processes below one, found in /proc and ended. Standard library only."""

import os
import signal
import time
from contextlib import suppress

END_S = 2.0  # for processes that were killed to be gone
PAUSE_S = 0.005
# on a CPU or ready for one, and asleep: whatever is neither stopped nor dead
RUNNING = ("R", "S", "D")


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
    """Stop the processes below this one, and those that they start meanwhile; `go_on` lets them continue."""
    stopped = _told_to_stop(pid)
    # one that is on another CPU goes on until the signal gets there
    deadline = time.monotonic() + END_S
    while _any_runs(stopped) and time.monotonic() < deadline:
        time.sleep(PAUSE_S)
    return stopped


def _told_to_stop(pid: int) -> set[int]:
    told: set[int] = set()
    while running := descendants(pid) - told:
        _signal(running, signal.SIGSTOP)
        told |= running
    return told


def _any_runs(processes: set[int]) -> bool:
    return any(_state(str(pid))[0] in RUNNING for pid in processes)


def stop(processes: set[int]) -> None:
    """Tell these to stop, without looking for others or waiting."""
    _signal(processes, signal.SIGSTOP)


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
        if state not in ("", "Z", "X"):
            parents[int(name)] = parent
    return parents


def _state(pid: str) -> tuple[str, int]:
    """The state of a process and its parent; an empty state if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            after_name = file.read().rpartition(b")")[2]
    except OSError:  # it has ended meanwhile
        return "", 0
    fields = after_name.split()
    return fields[0].decode(), int(fields[1])


def _signal(processes: set[int], number: signal.Signals) -> None:
    for pid in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
