"""For a program that has a process to itself: it can be ended by a signal cleanly, and leaves no process behind."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from .descendants import end_other_sessions
from .kernel import adopt_orphans

ENDINGS = (signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """A signal asks us to end: what a Ctrl-C would do, with another exit code."""

    def __init__(self, number: int):
        self.number = number
        super().__init__(f"ended by {signal.Signals(number).name}")


@contextmanager
def own_process() -> Iterator[None]:
    """Raise Terminated on SIGTERM and SIGHUP; at the end, kill what has been started and is still there.

    A signal that is ignored, as under nohup, stays ignored. A second one ends the process at once.
    """
    adopt_orphans()
    for number in ENDINGS:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _terminate)
    try:
        yield
    finally:
        end_other_sessions()


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)
    raise Terminated(number)
