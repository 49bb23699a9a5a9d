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
from dataclasses import asdict

from ..errors import Deep500Error
from .clock import Clock
from .plan import Plan


class FreshSession:
    """The same calls as Session, answered by a new Python process."""

    def __init__(self, plan: Plan, clock: Clock, padding: int = 0):
        self.timeout_s = plan.timeout_s
        self.names = ", ".join(repr(e.name) for e in plan.entries)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        mine, theirs = os.pipe(), os.pipe()
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.worker", str(theirs[0]), str(mine[1])],
                # An environment of random size moves the stack, so that its address is not the same in every process.
                env={**os.environ, "DEEP500_PADDING": "x" * padding}, pass_fds=(theirs[0], mine[1]),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._errors, start_new_session=True)
        finally:
            os.close(theirs[0])
            os.close(mine[1])
        self._reply, self._request = mine[0], theirs[1]
        self._pending = b""
        self._first = {"entries": [e.to_json() for e in plan.entries], "sync": plan.sync, "clock": asdict(clock),
                       "cold": plan.cache == "cold"}

    def calibrate(self) -> list[int]:
        return self._ask(self._first, self.timeout_s)["calls"]

    def block(self, calls: Sequence[int], orders: Sequence[Sequence[int]]) -> list[list[int]]:
        return self._ask({"calls": calls, "orders": orders}, self.timeout_s)["ns"]

    def close(self) -> None:
        for descriptor in (self._request, self._reply):
            os.close(descriptor)
        try:
            self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self._kill()
        self._errors.close()

    def kill(self) -> None:
        self._kill()
        self.close()

    def _kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def _ask(self, request: dict, timeout_s: float) -> dict:
        try:
            os.write(self._request, json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            raise self._ended() from None
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._reply], [], [], left)[0]:
                raise Deep500Error(f"no answer from {self.names} within {timeout_s:g} s: raise --timeout or --budget")
            part = os.read(self._reply, 1 << 20)
            if not part:
                raise self._ended()
            self._pending += part
        line, _, self._pending = self._pending.partition(b"\n")
        reply = json.loads(line)
        if "error" in reply:
            raise Deep500Error(reply["error"])
        return reply

    def _ended(self) -> Deep500Error:
        code = self.process.wait()
        how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        self._errors.seek(0)
        said = self._errors.read()[-2000:].decode(errors="replace").strip().splitlines()
        return Deep500Error(f"the process that timed {self.names} ended {how}" + (f": {said[-1]}" if said else ""))
