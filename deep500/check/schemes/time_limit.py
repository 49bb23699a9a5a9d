"""Ends code that never does, and says where it was."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ...errors import Deep500Error, user_function


class Overdue(Deep500Error):
    """Code did not end in time."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise an Overdue that names the user's file and line after so many seconds; in the main thread of a process."""

    def interrupt(*_: object) -> None:
        place = _place() or "its code"
        raise Overdue(
            f"no end within {seconds:.3g} s, in {place}: if it may take longer, raise --timeout"
        )

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _place() -> str | None:
    """The user's function that some thread is in."""
    for frame in sys._current_frames().values():
        place = user_function(_lines(frame))
        if place is not None:
            return place
    return None


def _lines(frame: FrameType | None) -> list[tuple[FrameType, int]]:
    """The frames of a stack with their lines, outermost first."""
    frames = []
    while frame is not None:
        frames.append((frame, frame.f_lineno))
        frame = frame.f_back
    return frames[::-1]
