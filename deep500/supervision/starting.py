"""Two ways to start a child: a fresh Python, or a copy of this process. Both run under a keeper."""

import os
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from .keeper import keep
from .serving import send
from .signals import ENDINGS, held_back

Send = Callable[[dict[str, Any]], None]
FOLDER = os.path.dirname(os.path.abspath(__file__))
LAUNCH = os.path.join(FOLDER, "launch.py")


class Process(Protocol):
    """The part of subprocess.Popen's interface that a child needs."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...


@dataclass(frozen=True)
class Ends:
    """The descriptors that a child is started with."""

    reply: int
    request: int
    stderr: int
    status: int  # where the keeper writes the number of the process that does the work


def fresh(
    module: str, env: Mapping[str, str], ends: Ends, files: Sequence[int] = ()
) -> Process:
    """A new Python that runs the module, with the descriptors of its two pipes and of the files as arguments."""
    parent = str(os.getpid())
    status = str(ends.status)
    reply = str(ends.reply)
    request = str(ends.request)
    launch = [sys.executable, "-P", LAUNCH, parent, status, module]
    return subprocess.Popen(
        [*launch, reply, request, *map(str, files)],
        env={**os.environ, **env},
        pass_fds=(ends.status, ends.reply, ends.request, *files),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=ends.stderr,
        start_new_session=True,
    )


def forked(function: Callable[[Send], None], ends: Ends) -> Process:
    """A copy of this process that calls the function and ends."""
    parent = os.getpid()
    with warnings.catch_warnings(), held_back(ENDINGS):
        # Python warns about threads, which the caller knows of
        warnings.simplefilter("ignore")
        pid = os.fork()
        if pid == 0:
            _run(function, parent, ends)
    return Forked(pid)


class Forked:
    """A forked process, with the calls of subprocess.Popen."""

    def __init__(self, pid: int):
        self.pid = pid
        self.code: int | None = None

    def poll(self) -> int | None:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def wait(self, timeout: float | None = None) -> int:
        began = time.monotonic()
        while (code := self.poll()) is None:
            if timeout is not None and time.monotonic() > began + timeout:
                raise subprocess.TimeoutExpired("a forked process", timeout)
            time.sleep(0.005)
        return code


def _run(function: Callable[[Send], None], parent: int, ends: Ends) -> NoReturn:
    """In the copy: nothing of what the parent would do at its end may happen here."""
    code = 1
    try:
        warnings.simplefilter("ignore")
        keep(parent, ends.status)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        os.dup2(nowhere, 1)
        os.dup2(ends.stderr, 2)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)
        with os.fdopen(ends.reply, "w") as replies:
            function(lambda message: send(replies, message))
        code = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode(errors="replace"))
    finally:
        os._exit(code)
