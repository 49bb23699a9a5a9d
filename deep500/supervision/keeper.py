"""The process between a parent and its child: when either ends, it ends whatever the child has started.

It adopts every process below it that loses its parent, so that none escapes by a session of its own, and the kernel
tells it when the parent is gone, even one that was killed. Standard library only.
"""

import os
import resource
import signal
from typing import NoReturn

from .descendants import end_children
from .kernel import adopt_orphans, end_with_parent
from .signals import ENDINGS

_kept = False  # whether a keeper is above this process


def keep(parent: int, status: int) -> None:
    """Fork, and return in the new process; this one waits for its end and never returns.

    The new process leads a session of its own; its number is written to the descriptor `status`. Below another keeper
    this process itself goes on: that one ends what it leaves behind.
    """
    global _kept
    if _kept:
        os.write(status, b"%d\n" % os.getpid())
        os.close(status)
        _become_worker(parent)
        return
    if os.getsid(0) != os.getpid():
        os.setsid()  # a Ctrl-C is the parent's to handle
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, *ENDINGS})
    adopt_orphans()
    end_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)
    keeper = os.getpid()
    worker = os.fork()
    if worker == 0:
        _kept = True
        os.close(status)
        _become_worker(keeper)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return
    os.write(status, b"%d\n" % worker)
    _close_descriptors()
    code = _wait_for(worker)
    end_children()
    _end_like(code)


def _become_worker(parent: int) -> None:
    os.setsid()
    end_with_parent(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    for number in (signal.SIGTERM, signal.SIGHUP):
        # a copy of the parent has the parent's
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def _close_descriptors() -> None:
    """Leave the pipes to the worker alone, so that whoever reads from them sees when it closes them."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def _wait_for(worker: int) -> int:
    """The worker's exit code, or minus the number of the signal that ended it or us."""
    while True:
        number = signal.sigwait({signal.SIGCHLD, *ENDINGS})
        if number != signal.SIGCHLD:
            return -number
        status = _reap(worker)
        if status is not None:
            return os.waitstatus_to_exitcode(status)


def _reap(worker: int) -> int | None:
    """Wait for all that have ended; the status of the worker, if it is one of them."""
    status = None
    pid = -1
    while pid:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == worker:
            status = ended
    return status


def _end_like(code: int) -> NoReturn:
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
        os.kill(os.getpid(), -code)
    os._exit(code & 255)
