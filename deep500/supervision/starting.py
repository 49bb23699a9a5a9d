"""Two ways to start a child: a fresh Python, or a copy of this process. Both get a session of their own."""

import os
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Protocol

from .serving import die_with_parent, send

Send = Callable[[dict[str, Any]], None]


class Process(Protocol):
    """As much of subprocess.Popen as a child needs."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...


def fresh(module: str, env: Mapping[str, str], reply: int, request: int, stderr: int) -> Process:
    """A new Python that runs the module, with the descriptors of its two pipes as arguments."""
    return subprocess.Popen(
        [sys.executable, "-m", module, str(reply), str(request)],
        env={**os.environ, **env},
        pass_fds=(reply, request),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        start_new_session=True,
    )


def forked(function: Callable[[Send], None], reply: int, request: int, stderr: int) -> Process:
    """A copy of this process that calls the function and ends."""
    with warnings.catch_warnings():  # of threads, which the caller knows of
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _run(function, reply, stderr)
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


def _run(function: Callable[[Send], None], reply: int, stderr: int) -> NoReturn:
    """In the copy: nothing of what the parent would do at its end may happen here."""
    code = 1
    try:
        os.setsid()
        die_with_parent()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for own, taken in ((nowhere, 0), (nowhere, 1), (stderr, 2)):
            os.dup2(own, taken)
        warnings.simplefilter("ignore")
        with os.fdopen(reply, "w") as replies:
            function(lambda message: send(replies, message))
        code = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode(errors="replace"))
    finally:
        os._exit(code)
