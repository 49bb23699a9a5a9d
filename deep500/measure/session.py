"""One process's worth of measuring: prepare the timers once, then time blocks of rounds."""

import gc
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..errors import Deep500Error, one_line
from .candidates import Command, Statement, Timer
from .clock import Clock, cold_caches, last_level_bytes
from .plan import Entry

T = TypeVar("T")


class Session:
    """The timers of all entries in this process."""

    def __init__(
        self,
        entries: Sequence[Entry],
        clock: Clock,
        sync: Callable | None = None,
        cold: bool = False,
    ):
        self.clock, self.cold, self.entries = clock, cold, entries
        flush = cold_caches(last_level_bytes()) if cold else None

        def before() -> None:
            if flush:
                flush()
            if sync:
                sync()

        first = before if flush or sync else None
        self.timers: list[Timer] = [_guarded(e, _timer, e, first, sync) for e in entries]

    def calibrate(self) -> list[int]:
        """Calls per timed interval for each entry, found by doubling; this is the first part of the warm-up."""
        return [
            _guarded(e, self._calls, e, t) for e, t in zip(self.entries, self.timers, strict=True)
        ]

    def block(self, calls: Sequence[int], orders: Sequence[Sequence[int]]) -> list[list[int]]:
        """Time the rounds: elapsed nanoseconds of every visit, in order."""
        timers, was_on = self.timers, gc.isenabled()
        gc.disable()
        visit = 0
        try:
            rounds = []
            for order in orders:
                times = []
                for visit in order:
                    times.append(timers[visit](calls[visit]))
                rounds.append(times)
            return rounds
        except Exception as error:
            raise _explained(self.entries[visit], error) from None
        finally:
            if was_on:
                gc.enable()

    def finish(self) -> None:
        """Run the teardowns, where there are any."""
        for entry, timer in zip(self.entries, self.timers, strict=True):
            if isinstance(entry.candidate, Statement) and entry.candidate.teardown:
                _guarded(entry, timer, 0)

    def _calls(self, entry: Entry, timer: Timer) -> int:
        if self.cold:
            timer(1)
            return 1
        calls = 1
        while (elapsed := min(timer(calls), timer(calls))) < self.clock.shortest_ns:
            calls = max(calls * 2, min(calls * 100, self.clock.calls_for(elapsed / calls)))
        return calls


def _timer(entry: Entry, before: Callable | None, after: Callable | None) -> Timer:
    if isinstance(entry.candidate, Command):
        raise Deep500Error(f"{entry.name!r} is a command, which runs in a process of its own")
    return entry.candidate.timer(entry.levels, before, after)


def _guarded(entry: Entry, function: Callable[..., T], *args: object) -> T:
    try:
        return function(*args)
    except Exception as error:
        raise _explained(entry, error) from None


def _explained(entry: Entry, error: Exception) -> Deep500Error:
    if isinstance(error, Deep500Error):
        return error
    return Deep500Error(f"{entry.name!r} raised {one_line(error, 300, kind=True)}")
