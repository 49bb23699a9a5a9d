"""Several fresh processes that take turns, one per group of entries: their threads never run at the same time."""

import itertools
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from .agreement import Clocks
from .clock import Clock
from .fresh import FreshSession
from .plan import Plan


class GatheredSession:
    """The same calls as FreshSession; while one process answers, the others are stopped."""

    def __init__(self, plan: Plan, clock: Clock, padding: int = 0):
        self.groups = [e.group for e in plan.entries]
        self.members = {
            group: [i for i, g in enumerate(self.groups) if g == group] for group in plan.groups
        }
        self.sessions: dict[str, FreshSession] = {}
        for group, members in self.members.items():
            part = replace(plan, entries=tuple(plan.entries[i] for i in members))
            try:
                self.sessions[group] = FreshSession(part, clock, padding)
            except BaseException:
                self.kill()
                raise
            self.sessions[group].pause()

    def calibrate(self) -> list[int]:
        found: dict[int, int] = {}
        for group, members in self.members.items():
            found |= zip(members, self._turn(group).calibrate(), strict=True)
            self.sessions[group].pause()
        return [found[i] for i in range(len(self.groups))]

    def block(self, calls: Sequence[int], orders: Sequence[Sequence[int]]) -> list[list[int]]:
        return [
            [
                time
                for group, visits in itertools.groupby(order, self.groups.__getitem__)
                for time in self._visits(group, list(visits), calls)
            ]
            for order in orders
        ]

    def _visits(self, group: str, visits: list[int], calls: Sequence[int]) -> list[int]:
        """The first visit is made twice and counts once: it wakes threads and fills caches after the others' turn."""
        members = self.members[group]
        places = [members.index(i) for i in visits]
        [times] = self._turn(group).block([calls[i] for i in members], [[places[0], *places]])
        self.sessions[group].pause()
        return times[1:]

    def take_clocks(self) -> Clocks:
        """The clocks of all blocks of all processes since this was last asked for."""
        return sum((session.take_clocks() for session in self.sessions.values()), Clocks())

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
