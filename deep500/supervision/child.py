"""The parent's side of a child process: every answer has a deadline, and every end becomes one line."""

import json
import os
import secrets
import select
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from subprocess import TimeoutExpired
from typing import Any

from ..errors import Deep500Error, InternalError, Wrong
from .descendants import END_S, end_below
from .starting import Ends, Process, forked, fresh

LONGEST_ANSWER = 100_000_000  # bytes
# bytes that may lie in the file before it is emptied
LONGEST_STDERR = 1_000_000
LAST_STDERR = 4000  # bytes of it that are looked at
TICK_S = 0.5  # how often a silent child is looked after
GRACE_S = 1.0  # for a child that may end by itself
START_S = 30.0  # for a new Python to start the process that answers
LONGEST_PROGRESS = 300  # characters


class Died(Deep500Error):
    """The child gave no answer: it ended, had to be ended, or sent something else."""


class Silent(Died):
    """The child gave no answer before the deadline."""


class Ended(Died):
    """The child ended; `code` is its exit code, or minus the number of the signal that ended it."""

    def __init__(self, code: int, doing: str, last_line: str):
        self.code = code
        cause = f"with exit code {code}"
        if code < 0:
            cause = f"by signal {_signal_name(-code)}"
        self.how = cause + doing
        if last_line:
            self.how += f": {last_line}"
        super().__init__(f"the process ended {self.how}")


class Child:
    """A process under a keeper; leaving its context kills it and whatever it has started."""

    def __init__(self, start: Callable[[Ends], Process]):
        self.doing = ""  # what the child said last that it is doing
        self._token: str | None = None  # of the request that was made last
        self._lines: list[bytes] = []  # answers not taken yet
        self._parts: list[bytes] = []  # of the answer that is coming in
        # a view, so that a partial write does not copy what remains
        self._outgoing = memoryview(b"")
        self._worker = 0  # the process that answers, once it is known
        # A file, as code under a clock must not wait for us to read; appended to, so that it can be emptied.
        self._stderr = tempfile.TemporaryFile("ab+", buffering=0)  # noqa: SIM115 - closed by kill
        self._reply, reply_end = os.pipe()
        self._status, status_end = os.pipe()
        request_end, self._request = os.pipe()
        os.set_blocking(self._request, False)
        ends = Ends(
            reply=reply_end,
            request=request_end,
            stderr=self._stderr.fileno(),
            status=status_end,
        )
        try:
            self.process = start(ends)
        except OSError as error:
            self._close_files()
            reason = error.strerror or error
            raise Deep500Error(f"a fresh process cannot be started: {reason}") from None
        finally:
            for end in (reply_end, request_end, status_end):
                os.close(end)

    @classmethod
    def fresh(
        cls,
        module: str,
        env: Mapping[str, str] | None = None,
        files: Sequence[int] = (),
    ) -> "Child":
        """A new Python that runs this module, which calls `serving.serve`.

        The current folder is not on its path of imports. The descriptors of the files are its arguments from the third
        on.
        """
        return cls(lambda ends: fresh(module, env or {}, ends, files))

    @classmethod
    def forked(cls, function: Callable[[Callable[[dict], None]], None]) -> "Child":
        """A copy of this process that calls the function; its argument is a function that sends answers."""
        return cls(lambda ends: forked(function, ends))

    def ask(self, request: Mapping[str, Any], key: str, timeout_s: float) -> Any:
        """What the child answers to a request under this key."""
        self._token = secrets.token_hex(8)
        message = {**request, "token": self._token}
        unsent = bytes(self._outgoing)
        line = json.dumps(message).encode() + b"\n"
        self._outgoing = memoryview(unsent + line)
        return self.answer(key, timeout_s)

    def answer(self, key: str, timeout_s: float) -> Any:
        """What the child's next answer holds under this key; errors that it reports are raised here.

        A line that is no answer to the last request raises Died. The value itself is whatever the child sent: it is
        for the caller to check.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            line = self._next_line(deadline, timeout_s)
            message = _parsed(line)
            progress = message.get("progress", "")
            error = message.get("error", "")
            died = message.get("died", "")
            internal = message.get("internal", "")
            texts = (progress, error, died, internal)
            are_texts = all(isinstance(text, str) for text in texts)
            if message.get("token") != self._token or not are_texts:
                raise self._scribbled(line)
            if error and message.get("wrong"):
                raise Wrong(error)
            if error:
                raise Deep500Error(error)
            if internal:
                raise _internal(internal, message.get("traceback"))
            if died:
                raise Died(f"{died}{self._during()}")
            if key in message:
                return message[key]
            if not progress:
                raise self._scribbled(line)
            self.doing = progress[:LONGEST_PROGRESS]

    def pause(self) -> None:
        """Stop all of its threads, also those that spin while they wait for work."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        """Let it end by itself, for a moment, then kill what remains of it."""
        self._close_files()
        with suppress(TimeoutExpired):
            self.process.wait(GRACE_S)
        self.kill()

    def kill(self) -> None:
        """End the process and whatever it has started and left behind."""
        if self.process.poll() is None:
            self._signal(signal.SIGKILL, 0.0)
            # the keeper kills what is below it
            _send(self.process.pid, signal.SIGTERM)
            _send(self.process.pid, signal.SIGCONT)
            with suppress(TimeoutExpired):
                self.process.wait(END_S + GRACE_S)
        if self.process.poll() is None:
            end_below(self.process.pid)
            _send(self.process.pid, signal.SIGKILL)
            with suppress(TimeoutExpired):  # the kernel may hold it
                self.process.wait(GRACE_S)
        self._close_files()

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def worker(self) -> int:
        """The number of the process that answers, once the keeper has started it; 0 if it does not."""
        return self._found_worker(START_S)

    def _signal(self, number: signal.Signals, start_s: float = START_S) -> None:
        if self._found_worker(start_s):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._worker, number)

    def _found_worker(self, start_s: float) -> int:
        if self._worker == 0 and self._status >= 0:
            self._worker = self._worker_number(start_s)
        return self._worker

    def _worker_number(self, start_s: float) -> int:
        """The process number that the keeper reports for the worker; 0 if the keeper has not started one."""
        polling = select.poll()
        polling.register(self._status, select.POLLIN)
        if not polling.poll(1000 * start_s):
            return 0
        return int(os.read(self._status, 100) or 0)

    def _close_files(self) -> None:
        for descriptor in (self._request, self._reply, self._status):
            if descriptor >= 0:
                os.close(descriptor)
        self._request = self._reply = self._status = -1
        self._stderr.close()

    def _next_line(self, deadline: float, timeout_s: float) -> bytes:
        while not self._lines:
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                during = self._during()
                raise Silent(
                    f"no answer within {timeout_s:g} s{during}: raise --timeout if it may take longer"
                )
            self._exchange(remaining_s)
            self._trim_stderr()
        return self._lines.pop(0)

    def _exchange(self, remaining_s: float) -> None:
        """Write and read as much as possible, waiting for one tick at most."""
        polling = select.poll()
        polling.register(self._reply, select.POLLIN)
        if self._outgoing:
            polling.register(self._request, select.POLLOUT)
        events = polling.poll(1000 * min(remaining_s, TICK_S))
        ready = [descriptor for descriptor, _ in events]
        if self._request in ready:
            self._write()
        if self._reply in ready:
            self._read(remaining_s)
        elif self.process.poll() is not None and not polling.poll(0):
            # it has ended, and something that it started holds the pipe
            raise self._ended(remaining_s)

    def _write(self) -> None:
        try:
            written = os.write(self._request, self._outgoing)
        except BrokenPipeError:  # the other pipe will tell why
            written = len(self._outgoing)
        self._outgoing = self._outgoing[written:]

    def _read(self, remaining_s: float) -> None:
        part = os.read(self._reply, 1 << 16)
        if not part:
            raise self._ended(remaining_s)
        *lines, unfinished = part.split(b"\n")
        for line in lines:
            parts = [*self._parts, line]
            self._lines.append(b"".join(parts))
            self._parts = []
        self._parts.append(unfinished)
        if len(self._parts) <= LONGEST_ANSWER >> 16:
            return  # too few parts to be too long: they need not be summed up
        if sum(map(len, self._parts)) > LONGEST_ANSWER:
            megabytes = LONGEST_ANSWER // 10**6
            raise Died(f"an answer of more than {megabytes} MB{self._during()}")

    def _trim_stderr(self) -> None:
        if os.fstat(self._stderr.fileno()).st_size > LONGEST_STDERR:
            self._stderr.truncate(0)

    def _ended(self, remaining_s: float) -> Died:
        # the keeper ends what is below the child first
        patience_s = min(remaining_s, END_S + GRACE_S)
        try:
            code = self.process.wait(patience_s)
        except TimeoutExpired:
            return Died(f"the process closed the channel of the answer{self._during()}")
        return Ended(code, self._during(), self.last_line())

    def last_line(self) -> str:
        """The last line that it has written to stderr; empty if there is none."""
        descriptor = self._stderr.fileno()
        size = os.fstat(descriptor).st_size
        start = max(size - LAST_STDERR, 0)
        end = os.pread(descriptor, LAST_STDERR, start)
        lines = end.decode(errors="replace").split("\n")
        for line in reversed(lines):
            printable = " ".join(line.split())
            if printable:
                return printable[:300]
        return ""

    def _scribbled(self, line: bytes) -> Died:
        during = self._during()
        return Died(
            f"something wrote into the channel of the answer{during}: {line[:40]!r}"
        )

    def _during(self) -> str:
        if not self.doing:
            return ""
        return f" during {self.doing}"


def _parsed(line: bytes) -> dict[str, Any]:
    """The message in a line, or an empty one, which answers nothing, if the line holds none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(message, dict):
        return {}
    return message


def _internal(text: str, traceback: Any) -> InternalError:
    """The child's defect, whose traceback is printed with this process's own."""
    error = InternalError(text)
    error.add_note(f"in a child process: {traceback}")
    return error


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most of the real-time signals have no name
        return str(number)
