"""Several fresh processes that take turns, one per group of entries: their threads never run at the same time."""

import itertools
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from .agreement import Clocks
from .clock import Clock
from .fresh import FreshSession
from .layout import MemoryLayout, draw_layout
from .plan import Plan
from .session import Visits


class GatheredSession:
    """The same calls as FreshSession; while one process answers, the others are stopped."""

    def __init__(
        self, plan: Plan, clock: Clock, layout: MemoryLayout | None = None
    ):
        if layout is None:
            layout = draw_layout(plan.seed, 0, len(plan.entries))
        self.layout = layout
        self.groups = [entry.group for entry in plan.entries]
        self.members: dict[str, list[int]] = {}
        for setup in self.layout.setups:
            group = self.groups[setup]
            self.members[group] = _places(group, self.groups)
        self.sessions: dict[str, FreshSession] = {}
        for group, members in self.members.items():
            entries = tuple(plan.entries[i] for i in members)
            part = replace(plan, entries=entries)
            try:
                part_layout = self.layout.part(members)
                self.sessions[group] = FreshSession(part, clock, part_layout)
            except BaseException:
                self.kill()
                raise
            self.sessions[group].pause()

    def calibrate(self) -> list[int]:
        calls: dict[int, int] = {}
        for group, members in self.members.items():
            group_calls = self._turn(group).calibrate()
            calls |= zip(members, group_calls, strict=True)
            self.sessions[group].pause()
        return [calls[i] for i in range(len(self.groups))]

    def block(
        self, calls: Sequence[int], orders: Sequence[Sequence[int]]
    ) -> Visits:
        rounds = Visits()
        for order in orders:
            times: list[int] = []
            used: list[int] = []
            turns = itertools.groupby(order, self.groups.__getitem__)
            for group, places in turns:
                visits = self._visits(group, list(places), calls)
                times += visits.ns[0][1:]
                used += visits.cpu_ns[0][1:]
            rounds.ns.append(times)
            rounds.cpu_ns.append(used)
        return rounds

    def _visits(
        self, group: str, visits: list[int], calls: Sequence[int]
    ) -> Visits:
        """The first visit is made twice and counts once: it wakes threads and fills caches after the others' turn."""
        members = self.members[group]
        places = [members.index(i) for i in visits]
        group_calls = [calls[i] for i in members]
        order = [places[0], *places]
        timed = self._turn(group).block(group_calls, [order])
        self.sessions[group].pause()
        return timed

    def take_clocks(self) -> Clocks:
        """The clocks of all blocks of all processes since the last call."""
        total = Clocks()
        for session in self.sessions.values():
            total += session.take_clocks()
        return total

    def finish(self) -> None:
        for group in self.sessions:
            self._turn(group).finish()
            self.sessions[group].pause()

    def close(self) -> None:
        with ExitStack() as stack:
            for group, session in self.sessions.items():
                self._turn(group)
                stack.callback(session.close)

    def kill(self) -> None:
        with ExitStack() as stack:
            for session in self.sessions.values():
                stack.callback(session.kill)

    def _turn(self, group: str) -> FreshSession:
        self.sessions[group].go_on()
        return self.sessions[group]


def _places(group: str, groups: Sequence[str]) -> list[int]:
    return [place for place, other in enumerate(groups) if other == group]
