"""For a program that has a process to itself: it can be ended by a signal cleanly, and leaves no process behind."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

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
    """At the end, kill the processes that this one has started and that are still running."""
    adopt_orphans()
    try:
        yield
    finally:
        end_other_sessions()


@contextmanager
def terminable() -> Iterator[None]:
    """Raise Terminated on SIGTERM and SIGHUP, also where a library turns the exception into another one.

    A signal that is ignored, as under nohup, stays ignored. A second one ends the process at once.
    """
    signals: list[int] = []

    def terminate(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        signal.signal(number, signal.SIG_DFL)
        raise Terminated(number)

    handled = _default_endings()
    for number in handled:
        signal.signal(number, terminate)
    try:
        yield
    except Terminated:
        raise
    except BaseException:
        if signals:
            raise Terminated(signals[0]) from None
        raise
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _default_endings() -> list[signal.Signals]:
    """The signals that would end this process; none where handlers cannot be set."""
    if threading.current_thread() is not threading.main_thread():
        return []
    return [number for number in ENDINGS if signal.getsignal(number) == signal.SIG_DFL]
