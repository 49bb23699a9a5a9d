"""Commands run and timed one after another by a process of their own, which ends what each leaves behind."""

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import Deep500Error
from .child import Child, Died
from .descendants import end_children
from .kernel import adopt_orphans
from .serving import Message, Progress, serve

START_S = 60.0  # for the process that runs them; a command's own deadline begins after that


@dataclass(frozen=True)
class Finished:
    """How a command ended: its wall time, its exit code, and the last line of its stderr."""

    elapsed_ns: int
    code: int
    last_line: str


class CommandRunner:
    """Runs commands, each within a deadline; none outlives its turn, nor whoever called for it."""

    def __init__(self) -> None:
        self.child = Child.fresh(__name__)
        self.close, self.kill = self.child.close, self.child.kill
        self._started = False

    def run(self, words: Sequence[str], timeout_s: float) -> Finished:
        """Raises Silent at the deadline, Died without a sensible answer, Deep500Error if it cannot be started."""
        if not self._started:
            self.child.ask({}, "ready", START_S)
            self._started = True
        began = time.perf_counter_ns()
        answer = self.child.ask({"words": list(words)}, "finished", timeout_s)
        passed = time.perf_counter_ns() - began
        if not _is_finished(answer, passed):
            raise Died(f"a process that runs a command answered {str(answer)[:60]!r}")
        elapsed_ns, code = answer
        return Finished(elapsed_ns, code, self.child.last_line())


def _is_finished(answer: object, passed_ns: int) -> bool:
    if not isinstance(answer, list) or len(answer) != 2:
        return False
    elapsed, code = answer
    return type(elapsed) is int and type(code) is int and 0 < elapsed <= passed_ns


def _handle(request: Message, progress: Progress) -> Message:
    if not request:
        adopt_orphans()
        return {"ready": True}
    os.ftruncate(2, 0)  # of what the command before has said
    return {"finished": _timed(request["words"])}


def _timed(words: list[str]) -> list[int]:
    """Wall time from before the process starts until it has been waited for, and its exit code."""
    start = time.perf_counter_ns()
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Deep500Error(f"cannot be started: {reason}") from None
    code = process.wait()
    elapsed = time.perf_counter_ns() - start
    end_children()
    return [elapsed, code]


if __name__ == "__main__":
    serve(_handle)
