"""A session in a fresh process, driven over two pipes with a deadline on every answer."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict

from ..errors import Deep500Error, Wrong
from .clock import Clock
from .plan import Plan


class FreshSession:
    """The same calls as Session, answered by a new Python process."""

    def __init__(self, plan: Plan, clock: Clock, padding: int = 0):
        self.timeout_s = plan.timeout_s
        self.names = ", ".join(repr(e.name) for e in plan.entries)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        (self._reply, reply_end), (request_end, self._request) = os.pipe(), os.pipe()
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.worker", str(request_end), str(reply_end)],
                # An environment of random size moves the stack, so that its address is not the same in every process.
                env={**os.environ, "DEEP500_PADDING": "x" * padding},
                pass_fds=(request_end, reply_end),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                start_new_session=True,
            )
        except OSError as error:
            self._close_files()
            raise Deep500Error(
                f"a fresh process cannot be started: {error.strerror or error}"
            ) from None
        finally:
            os.close(request_end)
            os.close(reply_end)
        self._pending = b""
        self._first = {
            "entries": [e.to_json() for e in plan.entries],
            "sync": plan.sync,
            "clock": asdict(clock),
            "cold": plan.cache == "cold",
        }

    def calibrate(self) -> list[int]:
        return self._ask(self._first, self.timeout_s)["calls"]

    def block(self, calls: Sequence[int], orders: Sequence[Sequence[int]]) -> list[list[int]]:
        return self._ask({"calls": calls, "orders": orders}, self.timeout_s)["ns"]

    def finish(self) -> None:
        self._ask({}, self.timeout_s)

    def pause(self) -> None:
        """Stop all of its threads, also those that spin while they wait for work."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        self._close_files()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=1)
        self._kill()

    def kill(self) -> None:
        self._kill()
        self._close_files()

    def _close_files(self) -> None:
        for descriptor in (self._request, self._reply):
            os.close(descriptor)
        self._errors.close()

    def _kill(self) -> None:
        """The process and whatever the timed code has started and left behind."""
        self._signal(signal.SIGKILL)
        self.process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def _ask(self, request: dict, timeout_s: float) -> dict:
        try:
            os.write(self._request, json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            raise self._ended() from None
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._reply], [], [], left)[0]:
                raise Deep500Error(
                    f"no answer from {self.names} within {timeout_s:g} s: raise --timeout or --budget"
                )
            part = os.read(self._reply, 1 << 20)
            if not part:
                raise self._ended()
            self._pending += part
        line, _, self._pending = self._pending.partition(b"\n")
        reply = json.loads(line)
        if "error" in reply:
            raise (Wrong if reply.get("wrong") else Deep500Error)(reply["error"])
        return reply

    def _ended(self) -> Deep500Error:
        code = self.process.wait()
        how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        self._errors.seek(0)
        said = self._errors.read()[-2000:].decode(errors="replace").strip().splitlines()
        return Deep500Error(
            f"the process that timed {self.names} ended {how}" + (f": {said[-1]}" if said else "")
        )
