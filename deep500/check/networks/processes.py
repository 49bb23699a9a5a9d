"""Runs frameworks in child processes: one that crashes fails a single check, and is restarted for the next one."""

import sys
import time
from typing import Any

from ...errors import Deep500Error, Unsupported
from ...supervision.child import Child, Died, Silent
from ..wire import ArrayFiles, Malformed, decoded, encoded
from .answering import Answering, attempted
from .values import ANSWERS, pack

SERVING = f"{__package__}.server"
MOST_CRASHES = 5
LONGEST = 1 << 36  # bytes of the arrays of a network, or of its answer


class Crashed(Deep500Error):
    """Raised if the process ended during a computation."""


class RunnerLost(Deep500Error):
    """Raised if the process will give no more answers."""


class OwnProcess:
    """A framework or an engine in this process, for what no other process can import."""

    isolated = False
    crashes = 0

    def __init__(self, framework: str, runner: Answering):
        self.framework = framework
        self.runner = runner

    def ask(self, method: str, doing: str, *values: Any) -> Any:
        answer = attempted(self.runner, method, values)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        pass


class OtherProcess:
    """A framework, or a user's engine, in a child process, with a time limit for all of its answers together."""

    isolated = True

    def __init__(self, framework: str, seed: int, timeout_s: float, engine: str = ""):
        self.framework = framework
        self.seed = seed
        self.engine = engine
        self.left_s = timeout_s
        self.crashes = 0
        self.child: Child | None = None
        self.files = ArrayFiles(LONGEST)

    def ask(self, method: str, doing: str, *values: Any) -> Any:
        """What the runner's method of that name returns.

        Raises the method's own error, `Crashed` if the process ended, or `Lost` if there is no time left.
        """
        if self.left_s <= 0:
            raise RunnerLost("no time was left: raise --timeout")
        self.files.questions.end = 0
        request = {
            "method": method,
            "values": encoded(values, pack, self.files.questions),
            "framework": self.framework,
            "seed": self.seed,
            "engine": self.engine,
            "path": sys.path,
            "doing": doing,
        }
        self.child = self.child or Child.fresh(SERVING, files=self.files.descriptors)
        started = time.monotonic()
        try:
            answer = self.child.ask(request, "answer", self.left_s)
        except Silent as error:
            raise self._lost(error) from None
        except Died as error:
            raise self._crashed(error) from None
        finally:
            self.left_s -= time.monotonic() - started
        if "raised" in answer:
            kind = Unsupported if answer["missing"] else Deep500Error
            raise kind(answer["raised"])
        try:
            return decoded(answer["value"], ANSWERS, self.files.answers)
        except (Malformed, RecursionError):
            raise self._crashed(Died("it sent something else than a value")) from None

    def _crashed(self, error: Died) -> Deep500Error:
        self._end()
        self.crashes += 1
        if self.crashes >= MOST_CRASHES:
            self.left_s = 0.0
            return RunnerLost(
                f"it crashed {self.crashes} times, the last time: {error}"
            )
        return Crashed(str(error))

    def _lost(self, error: Died) -> RunnerLost:
        self._end()
        self.left_s = 0.0
        return RunnerLost(str(error))

    def _end(self) -> None:
        if self.child:
            self.child.kill()
        self.child = None

    def close(self) -> None:
        self._end()
        self.files.close()


Process = OwnProcess | OtherProcess
