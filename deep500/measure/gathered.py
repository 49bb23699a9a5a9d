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
from .session import Preparation, Visits


class GatheredSession:
    """The same calls as FreshSession; while one process answers, the others are stopped."""

    def __init__(self, plan: Plan, clock: Clock, layout: MemoryLayout | None = None):
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

    def calibrate(self, watched: bool = False) -> list[int]:
        calls: dict[int, int] = {}
        for group, members in self.members.items():
            group_calls = self._turn(group).calibrate(watched)
            calls |= zip(members, group_calls, strict=True)
            self.sessions[group].pause()
        return [calls[i] for i in range(len(self.groups))]

    def prepare(
        self, calls: Sequence[int], tolerance: float, seconds: float
    ) -> Preparation:
        untimed = [0] * len(self.groups)
        after: list[float | None] = [None] * len(self.groups)
        for group, members in self.members.items():
            group_calls = [calls[i] for i in members]
            share_s = seconds * len(members) / len(self.groups)
            session = self._turn(group)
            # the other groups, whose processes wait, may leave nothing in the caches
            prepared = session.prepare(group_calls, tolerance, share_s, emptied=True)
            session.pause()
            for i, count, used in zip(
                members, prepared.untimed, prepared.after, strict=True
            ):
                untimed[i] = count
                after[i] = used
        return Preparation(untimed, after)

    def block(
        self,
        calls: Sequence[int],
        orders: Sequence[Sequence[int]],
        untimed: Sequence[int] | None = None,
    ) -> Visits:
        ns = []
        cpu_ns = []
        untimed_ns = 0
        for order in orders:
            times: list[int] = []
            used: list[int] = []
            turns = itertools.groupby(order, self.groups.__getitem__)
            for group, places in turns:
                visits = self._visits(group, list(places), calls, untimed)
                times += visits.ns[0]
                used += visits.cpu_ns[0]
                untimed_ns += visits.untimed_ns
            ns.append(times)
            cpu_ns.append(used)
        return Visits(ns, cpu_ns, untimed_ns)

    def _visits(
        self,
        group: str,
        visits: list[int],
        calls: Sequence[int],
        untimed: Sequence[int] | None,
    ) -> Visits:
        """Before the first visit of a turn there is always an untimed one: it wakes threads after the others' turn."""
        members = self.members[group]
        places = [members.index(i) for i in visits]
        group_calls = [calls[i] for i in members]
        group_untimed = [untimed[i] if untimed else 0 for i in members]
        wakes = [places[0]] if group_untimed[places[0]] == 0 else []
        order = [*wakes, *places]
        timed = self._turn(group).block(group_calls, [order], group_untimed)
        self.sessions[group].pause()
        wakes_ns = sum(timed.ns[0][: len(wakes)])
        return Visits(
            ns=[timed.ns[0][len(wakes) :]],
            cpu_ns=[timed.cpu_ns[0][len(wakes) :]],
            untimed_ns=timed.untimed_ns + wakes_ns,
        )

    def take_clocks(self) -> Clocks:
        """The clocks of all blocks of all processes since the last call."""
        total = Clocks(0, 0, 0)
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
