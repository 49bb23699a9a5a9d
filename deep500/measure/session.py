"""Measuring in one process: prepare the timers once, then time blocks of rounds."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ..errors import Deep500Error, InternalError, one_line
from .candidates import Command, Statement, Timer
from .clock import Clock, cold_caches, last_level_bytes
from .layout import MemoryLayout, allocate
from .plan import PlanEntry

T = TypeVar("T")


@dataclass(frozen=True)
class Visits:
    """The times of every visit, by round: elapsed nanoseconds, and CPU nanoseconds of all threads."""

    ns: list[list[int]] = field(default_factory=list)
    cpu_ns: list[list[int]] = field(default_factory=list)


class Session:
    """The timers of all entries in this process, made in the order of the layout, if there is one."""

    def __init__(
        self,
        entries: Sequence[PlanEntry],
        clock: Clock,
        sync: Callable | None = None,
        cold: bool = False,
        layout: MemoryLayout | None = None,
    ):
        self.clock = clock
        self.cold = cold
        self.entries = entries
        self.setups: Sequence[int] = range(len(entries))
        if layout:
            self.setups = layout.setups
        before = _before(sync, cold)
        self._allocations: list[list[bytes]] = []
        timers: dict[int, Timer] = {}
        for place, i in enumerate(self.setups):
            if layout:
                self._allocations.append(allocate(layout.allocations[place]))
            entry = entries[i]
            timers[i] = _guarded(entry, _timer, entry, before, sync)
        self.timers = [timers[i] for i in range(len(entries))]

    def calibrate(self) -> list[int]:
        """Calls per timed interval for each entry, found by doubling; this is the first part of the warm-up."""
        calls: dict[int, int] = {}
        for i in self.setups:
            entry = self.entries[i]
            calls[i] = _guarded(entry, self._calls, entry, self.timers[i])
        return [calls[i] for i in range(len(self.entries))]

    def block(
        self, calls: Sequence[int], orders: Sequence[Sequence[int]]
    ) -> Visits:
        """Time the rounds, visit by visit."""
        timers = self.timers
        cpu_now = time.process_time_ns
        was_on = gc.isenabled()
        visits = Visits()
        gc.disable()
        visit = 0
        try:
            for order in orders:
                times, used = [], []
                before = cpu_now()
                for visit in order:
                    times.append(timers[visit](calls[visit]))
                    after = cpu_now()
                    used.append(after - before)
                    before = after
                visits.ns.append(times)
                visits.cpu_ns.append(used)
            return visits
        except Exception as error:
            raise _explained(self.entries[visit], error) from None
        finally:
            if was_on:
                gc.enable()

    def finish(self) -> None:
        """Run the teardowns, where there are any."""
        for entry, timer in zip(self.entries, self.timers, strict=True):
            if (
                isinstance(entry.candidate, Statement)
                and entry.candidate.teardown
            ):
                _guarded(entry, timer, 0)

    def _calls(self, entry: PlanEntry, timer: Timer) -> int:
        if self.cold:
            timer(1)
            return 1
        calls = 1
        while (
            elapsed := min(timer(calls), timer(calls))
        ) < self.clock.shortest_ns:
            enough = self.clock.calls_for(elapsed / calls)
            calls = max(calls * 2, min(calls * 100, enough))
        return calls


def _before(sync: Callable | None, cold: bool) -> Callable | None:
    """What runs before every timed interval: empty the caches, wait for the device; None if there is nothing."""
    flush = cold_caches(last_level_bytes()) if cold else None
    if not flush and not sync:
        return None

    def before() -> None:
        if flush:
            flush()
        if sync:
            sync()

    return before


def _timer(
    entry: PlanEntry, before: Callable | None, after: Callable | None
) -> Timer:
    if isinstance(entry.candidate, Command):
        raise Deep500Error(
            f"{entry.name!r} is a command, which runs in a process of its own"
        )
    return entry.candidate.timer(entry.levels, before, after)


def _guarded(entry: PlanEntry, function: Callable[..., T], *args: object) -> T:
    try:
        return function(*args)
    except Exception as error:
        raise _explained(entry, error) from None


def _explained(entry: PlanEntry, error: Exception) -> Exception:
    """The error in one line; a defect of ours as it is."""
    if isinstance(error, Deep500Error | InternalError):
        return error
    reason = one_line(error, 300, kind=True)
    return Deep500Error(f"{entry.name!r} raised {reason}")
