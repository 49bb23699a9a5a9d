"""The signals that end a program, and how a fork is protected from them."""

import signal
from collections.abc import Collection, Iterator
from contextlib import contextmanager

# what a terminal or a launcher may send to a process and its children at once
ENDINGS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


@contextmanager
def held_back(signals: Collection[signal.Signals]) -> Iterator[None]:
    """Deliver these signals only after the block; a process forked in it starts with them blocked.

    So a child is not hit by a Ctrl-C while it still has the handlers of its parent.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
