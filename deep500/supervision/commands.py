"""Commands run and timed one after another by a process of their own, which ends what each leaves behind."""

import os
import resource
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import Deep500Error
from .child import Child, Died
from .descendants import end_children
from .kernel import adopt_orphans
from .serving import Message, Progress, serve

# For the process that runs them; a command's own deadline begins after that.
START_S = 60.0
LARGEST_NS = 1 << 62


@dataclass(frozen=True)
class Finished:
    """How a command ended: its wall time, CPU time, exit code, and the last line of its stderr."""

    elapsed_ns: int
    cpu_ns: int
    code: int
    last_line: str


class CommandRunner:
    """Runs commands, each within a deadline; no process of a command survives its turn or the caller."""

    def __init__(self) -> None:
        self.child = Child.fresh(__name__)
        self.close = self.child.close
        self.kill = self.child.kill
        try:
            self.child.ask({}, "ready", START_S)
        except BaseException:
            self.kill()
            raise

    def run(self, words: Sequence[str], timeout_s: float) -> Finished:
        """Run a command; raises Silent at the deadline, Died on an invalid answer, Deep500Error if it cannot start."""
        began = time.perf_counter_ns()
        answer = self.child.ask({"words": list(words)}, "finished", timeout_s)
        passed_ns = time.perf_counter_ns() - began
        if not _is_finished(answer, passed_ns):
            shown = repr(str(answer)[:60])
            raise Died(f"a process that runs a command answered {shown}")
        elapsed_ns, cpu_ns, code = answer
        return Finished(
            elapsed_ns=elapsed_ns,
            cpu_ns=cpu_ns,
            code=code,
            last_line=self.child.last_line(),
        )


def _is_finished(answer: object, passed_ns: int) -> bool:
    if not isinstance(answer, list):
        return False
    types = [type(value) for value in answer]
    if types != [int, int, int]:
        return False
    elapsed_ns, cpu_ns, _ = answer
    return 0 < elapsed_ns <= passed_ns and 0 <= cpu_ns < LARGEST_NS


def _handle(request: Message, progress: Progress) -> Message:
    if not request:
        adopt_orphans()
        return {"ready": True}
    os.ftruncate(2, 0)  # of what the command before has said
    return {"finished": _timed(request["words"])}


def _timed(words: list[str]) -> list[int]:
    """Wall time from before the process starts until it has been waited for, CPU time, and exit code."""
    cpu_before = _cpu_of_children()
    start = time.perf_counter_ns()
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Deep500Error(f"cannot be started: {reason}") from None
    code = process.wait()
    elapsed = time.perf_counter_ns() - start
    end_children()
    return [elapsed, _cpu_of_children() - cpu_before, code]


def _cpu_of_children() -> int:
    """The CPU nanoseconds of all children that have been waited for."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((ended.ru_utime + ended.ru_stime) * 1e9)


if __name__ == "__main__":
    serve(_handle)
