"""The judge's hold on a sandboxed process: asks it, stops all of it, and says who is to blame for its end."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import Deep500Error, InternalError, one_line
from ..schema import decoded, encoded
from ..supervision.child import Child, Died, Silent
from ..supervision.descendants import StillRunning, go_on, stop_below
from ..supervision.sandbox import Limits
from .evaluation import Refusal
from .messages import SELF_TOLD
from .watch import Watch


class NotDecided(Deep500Error):
    """The judge could not run a submission for reasons that are not its own: nothing is said about it."""


class SeedFailure(Refusal):
    """A process of a submission has crashed, hung or used too much: what it was run for has reached nothing."""


class SandboxedChild:
    """A process in a sandbox; whatever it does, and whatever is below it, is within a limit."""

    def __init__(self, child: Child, watch: Watch):
        self._child = child
        self._watch = watch
        self._stopped: set[int] = set()

    def begin(self, seconds: float) -> Mapping[str, str]:
        """The layers of the sandbox; nothing of a submission was run before, so that no failure is its own."""
        try:
            layers = self._child.ask({"do": "begin"}, "layers", seconds)
        except (Deep500Error, InternalError) as error:
            reason = self._watch.excess or one_line(error, 300)
            raise NotDecided(f"the sandbox was not ready: {reason}") from None
        self._watch.begin(self._child.worker)
        return decoded(dict[str, str], layers, "the sandbox")

    def ask(self, request: Mapping[str, Any], key: str, seconds: float) -> Any:
        """What it answers; a SeedFailure if it does not."""
        try:
            return self._child.ask(request, key, seconds)
        except (Deep500Error, InternalError) as error:
            raise self._failure(error) from None

    def stop(self) -> None:
        """Let all of it stand still; when this returns, it does."""
        try:
            self._stopped = stop_below(self._child.process.pid)
        except StillRunning as error:
            raise SeedFailure("clock", str(error)) from None

    def go_on(self) -> None:
        go_on(self._stopped)

    def _failure(self, error: Exception) -> SeedFailure:
        """Which layer has stopped it, and why."""
        if self._watch.excess:
            return SeedFailure("limits", self._watch.excess)
        if isinstance(error, Silent):
            return SeedFailure("limits", "no answer within its time")
        reason = one_line(error, 300)
        if isinstance(error, Died | InternalError):
            return SeedFailure("process", reason)
        layer, _, told = reason.partition(": ")
        if layer in SELF_TOLD:
            return SeedFailure(layer, told)
        return SeedFailure("contract", reason)


@contextmanager
def sandboxed(
    module: str, order: object, limits: Limits, files: Sequence[int] = ()
) -> Iterator[SandboxedChild]:
    """A process of this module, which reads the order, and then the files, from the descriptors of its arguments."""
    descriptor = os.memfd_create("order")
    try:
        os.write(descriptor, json.dumps(encoded(order)).encode())
        try:
            child = Child.fresh(module, files=[descriptor, *files])
        except Deep500Error as error:
            raise NotDecided(str(error)) from None
        with child, Watch(child.process.pid, limits) as watch:
            yield SandboxedChild(child, watch)
    finally:
        os.close(descriptor)
