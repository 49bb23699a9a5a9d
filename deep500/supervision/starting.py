"""Two ways to start a child: a fresh Python, or a copy of this process. Both run under a keeper."""

import os
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from .keeper import keep
from .serving import send

Send = Callable[[dict[str, Any]], None]
LAUNCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launch.py")


class Process(Protocol):
    """As much of subprocess.Popen as a child needs."""

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


def fresh(module: str, env: Mapping[str, str], ends: Ends) -> Process:
    """A new Python that runs the module, with the descriptors of its two pipes as arguments."""
    descriptors = (ends.status, ends.reply, ends.request)
    numbers = [str(descriptor) for descriptor in descriptors]
    return subprocess.Popen(
        [
            sys.executable,
            "-P",
            LAUNCH,
            str(os.getpid()),
            numbers[0],
            module,
            *numbers[1:],
        ],
        env={**os.environ, **env},
        pass_fds=descriptors,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=ends.stderr,
        start_new_session=True,
    )


def forked(function: Callable[[Send], None], ends: Ends) -> Process:
    """A copy of this process that calls the function and ends."""
    parent = os.getpid()
    with warnings.catch_warnings():  # of threads, which the caller knows of
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
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a forked process", timeout or 0)
            time.sleep(0.005)
        return code


def _run(function: Callable[[Send], None], parent: int, ends: Ends) -> NoReturn:
    """In the copy: nothing of what the parent would do at its end may happen here."""
    code = 1
    try:
        warnings.simplefilter("ignore")
        keep(parent, ends.status)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for own, taken in ((nowhere, 0), (nowhere, 1), (ends.stderr, 2)):
            os.dup2(own, taken)
        with os.fdopen(ends.reply, "w") as replies:
            function(lambda message: send(replies, message))
        code = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode(errors="replace"))
    finally:
        os._exit(code)
