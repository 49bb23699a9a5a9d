"""A function run in a fresh process with a deadline: what crashes, never ends or leaves becomes one line."""

import ctypes
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any, TextIO

from ..errors import Deep500Error

LAST = 4000  # bytes of what was written to standard error that are kept
LONGEST = 100_000_000  # bytes of an answer


class Died(Deep500Error):
    """The process ended, or had to be ended, before it answered."""


def isolated(function: str, arguments: Mapping[str, Any], timeout_s: float) -> Any:
    """The JSON-able result of `module:name`, called with these arguments by name in a new process.

    The function may take `progress`, to be called with a text that says what comes next; it is part of what is told
    when the process dies. Errors for users that it raises are raised here.
    """
    reply, reply_end = os.pipe()
    command = [sys.executable, "-m", __name__, str(reply_end), function]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(reply_end,),
        start_new_session=True,
    ) as process:
        os.close(reply_end)
        try:
            return _Listener(process, reply, timeout_s).answer(json.dumps(dict(arguments)).encode())
        finally:
            os.close(reply)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and whatever it has started


class _Listener:
    """Reads answers and complaints as they come, so that neither pipe can fill up."""

    def __init__(self, process: subprocess.Popen, reply: int, timeout_s: float):
        self.process, self.reply, self.timeout_s = process, reply, timeout_s
        self.said, self.pending, self.doing = b"", b"", ""

    def answer(self, request: bytes) -> Any:
        stdin, stderr = _pipe(self.process.stdin), _pipe(self.process.stderr)
        with suppress(BrokenPipeError):
            stdin.write(request)
            stdin.close()
        deadline, open_ends = time.monotonic() + self.timeout_s, [self.reply, stderr.fileno()]
        while self.reply in open_ends:
            if (left := deadline - time.monotonic()) <= 0:
                raise Died(
                    f"no answer within {self.timeout_s:g} s{self._during()}: raise --timeout if it may take "
                    "longer"
                )
            for end in select.select(open_ends, [], [], min(left, 60))[0]:  # it takes no infinity
                if not (part := os.read(end, 1 << 16)):
                    open_ends.remove(end)
                elif end == self.reply:
                    self.pending += part
                    while b"\n" in self.pending:
                        line, _, self.pending = self.pending.partition(b"\n")
                        if (found := self._heard(line)) is not None:
                            return found["result"]
                    if len(self.pending) > LONGEST:
                        raise Died(f"an answer of more than {LONGEST // 10**6} MB{self._during()}")
                else:
                    self.said = (self.said + part)[-LAST:]
        raise self._ended()

    def _heard(self, line: bytes) -> dict | None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise Died(
                f"something wrote into the channel of the answer{self._during()}: {line[:40]!r}"
            )
        if "error" in message:
            raise Deep500Error(message["error"])
        if "died" in message:
            raise Died(message["died"] + self._during())
        self.doing = message.get("progress", self.doing)
        return message if "result" in message else None

    def _ended(self) -> Died:
        code, rest = self.process.wait(), _pipe(self.process.stderr).fileno()
        while select.select([rest], [], [], 0)[0] and (part := os.read(rest, 1 << 16)):
            self.said = (self.said + part)[-LAST:]
        how = f"by signal {_signal(-code)}" if code < 0 else f"with exit code {code}"
        lines = self.said.decode(errors="replace").strip().splitlines()
        told = f": {lines[-1][:300]}" if lines and code > 0 else ""
        return Died(f"the process ended {how}{self._during()}{told}")

    def _during(self) -> str:
        return f" during {self.doing}" if self.doing else ""


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most of the real-time signals have no name
        return str(number)


def _pipe(end: IO[bytes] | None) -> IO[bytes]:
    assert end is not None  # asked for with PIPE
    return end


def _serve(replies: TextIO, function: str, arguments: dict[str, Any]) -> None:
    def send(message: dict) -> None:
        replies.write(json.dumps(message) + "\n")
        replies.flush()

    def progress(text: str) -> None:
        send({"progress": text})

    try:
        send({"result": _resolved(function)(**arguments, progress=progress)})
    except Deep500Error as error:
        send({"error": str(error)})
    except SystemExit as error:
        send({"died": f"the code called exit({error.code!r})"})
    except MemoryError:
        send({"died": "the memory was used up"})


def _resolved(function: str) -> Callable:
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)


if __name__ == "__main__":
    if (
        sys.platform == "linux"
    ):  # a parent that is killed takes us with it, even in the middle of an endless loop
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    with os.fdopen(int(sys.argv[1]), "w") as end:
        _serve(end, sys.argv[2], json.load(sys.stdin))
