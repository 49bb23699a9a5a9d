"""Measuring in one process: prepare the timers once, then time blocks of rounds."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import Any, TypeVar

from ..errors import Deep500Error, InternalError, one_line
from .aftermath import BACKLOG_S, Background, can_be_watched
from .candidates import Command, DataCandidate, Timer
from .clock import Clock, cold_caches, last_level_bytes, now
from .device_clock import DeviceTimer, device_ns
from .device_work import check_nothing_is_left
from .layout import MemoryLayout, allocate
from .plan import PlanEntry
from .warming import Allowance, untimed_visits

T = TypeVar("T")


@dataclass(frozen=True)
class Visits:
    """The times of every visit, by round: elapsed nanoseconds, and CPU nanoseconds of all threads meanwhile.

    `untimed_ns` is the sum of the visits before them, whose times are not used. `device_ns` are the times by the clocks
    of devices, 0 for an entry without one; it is empty if no entry has one.
    """

    ns: list[list[int]] = field(default_factory=list)
    cpu_ns: list[list[int]] = field(default_factory=list)
    untimed_ns: int = 0
    device_ns: list[list[int]] = field(default_factory=list)


@dataclass(frozen=True)
class Preparation:
    """What was found about every entry before the first round.

    `untimed` visits come before each timed one; `after` is the CPU time that an entry used after its clock had stopped
    per timed time, None where that is not known.
    """

    untimed: list[int]
    after: list[float | None]

    def to_json(self) -> dict[str, Any]:
        return {"untimed": self.untimed, "after": self.after}


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
        self.visits_ns = [0] * len(entries)  # of a visit, when calibrated
        # CPU time after the clock had stopped per timed time; None where it was not watched
        self.after: list[float | None] = [None] * len(entries)

    def calibrate(self, watched: bool = False) -> list[int]:
        """Calls per timed interval for each entry, found by doubling; this is the first part of the warm-up.

        If it is watched, work that goes on after the clock has stopped is looked for as well.
        """
        background = Background() if watched and can_be_watched() else None
        calls: dict[int, int] = {}
        for i in self.setups:
            entry = self.entries[i]
            was_quiet = background is not None and background.wait(BACKLOG_S)
            calls[i], self.visits_ns[i] = _guarded(
                entry, self._calls, entry, self.timers[i]
            )
            visit = partial(self.timers[i], calls[i])
            check_nothing_is_left(entry.name, visit, self.visits_ns[i])
            if background and was_quiet:
                self.after[i] = _guarded(
                    entry, background.goes_on, visit, self.visits_ns[i]
                )
        return [calls[i] for i in range(len(self.entries))]

    def prepare(
        self,
        calls: Sequence[int],
        tolerance: float,
        seconds: float,
        emptied: bool = False,
    ) -> Preparation:
        """Find out how many untimed visits each entry needs after one of each other, or after `emptied` caches.

        What a watched calibration found is handed on.
        """
        visits = []
        for timer, count in zip(self.timers, calls, strict=True):
            visits.append(partial(timer, count))
        untimed = [0] * len(visits)
        if self.cold or (len(visits) == 1 and not emptied):
            return Preparation(untimed, self.after)
        if emptied:
            empty_caches = cold_caches(last_level_bytes())
            empty_caches()  # the first time is longer: it gets the memory
            empty_ns = _elapsed_ns(empty_caches)
        allowance = Allowance(seconds * 1e9, len(visits))
        for i, visit in enumerate(visits):
            # twice: in mirrored rounds, the visits of a neighbour meet
            disturb = all_of(2 * (visits[:i] + visits[i + 1 :]))
            disturb_ns = 2 * (sum(self.visits_ns) - self.visits_ns[i])
            if emptied:
                disturb, disturb_ns = empty_caches, empty_ns
            untimed[i] = _guarded(
                self.entries[i],
                untimed_visits,
                visit,
                self.visits_ns[i],
                disturb,
                disturb_ns,
                tolerance,
                allowance,
            )
        return Preparation(untimed, self.after)

    def block(
        self,
        calls: Sequence[int],
        orders: Sequence[Sequence[int]],
        untimed: Sequence[int] | None = None,
    ) -> Visits:
        """Time the rounds, visit by visit, each after so many untimed visits of the same entry."""
        timers = self.timers
        cpu_now = time.process_time_ns
        was_on = gc.isenabled()
        ns: list[list[int]] = []
        cpu_ns: list[list[int]] = []
        untimed_ns = 0
        counts = untimed or [0] * len(timers)
        gc.disable()
        visit = 0
        has_devices = any(isinstance(timer, DeviceTimer) for timer in timers)
        device: list[list[int]] = []
        try:
            for order in orders:
                times, used = [], []
                by_device = []
                for visit in order:
                    timer = timers[visit]
                    count = calls[visit]
                    for _ in repeat(None, counts[visit]):
                        untimed_ns += timer(count)
                    before = cpu_now()
                    began = now()
                    times.append(timer(count))
                    around = now() - began
                    after = cpu_now()
                    # what was used around the timed interval, at the same rate inside it
                    used.append((after - before) * times[-1] // around)
                    if has_devices:
                        by_device.append(device_ns(timer))
                ns.append(times)
                cpu_ns.append(used)
                if has_devices:
                    device.append(by_device)
            return Visits(ns, cpu_ns, untimed_ns, device)
        except Exception as error:
            raise _explained(self.entries[visit], error) from None
        finally:
            if was_on:
                gc.enable()

    def finish(self) -> None:
        """Check the subjects of jobs again."""
        for entry, timer in zip(self.entries, self.timers, strict=True):
            if isinstance(entry.candidate, DataCandidate):
                _guarded(entry, timer, 0)

    def _calls(self, entry: PlanEntry, timer: Timer) -> tuple[int, int]:
        """The number of calls, and the nanoseconds that they take."""
        if self.cold:
            return 1, timer(1)
        calls = 1
        while (elapsed := min(timer(calls), timer(calls))) < self.clock.shortest_ns:
            enough = self.clock.calls_for(elapsed / calls)
            calls = max(calls * 2, min(calls * 100, enough))
        return calls, elapsed


def _elapsed_ns(function: Callable[[], None]) -> int:
    began = now()
    function()
    return now() - began


def all_of(visits: Sequence[Callable[[], int]]) -> Callable[[], None]:
    """One visit of each."""

    def visit_all() -> None:
        for visit in visits:
            visit()

    return visit_all


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


def _timer(entry: PlanEntry, before: Callable | None, after: Callable | None) -> Timer:
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
