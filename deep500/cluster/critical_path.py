"""The critical path: from the interval that ended last back to the first, each the reason why the next one waited."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .network import ClusterNetwork
from .outcome import GAP, NO_CAUSE, PROCESSOR, WIRE, SimulatedRun
from .schedule import CALC, LARGEST, RECV, SEND, MessageSchedule

ACTIVITIES = ("work", "overhead", "latency", "gap", "bytes", "noise", "waiting")


@dataclass(frozen=True)
class PathStretch:
    """So long was spent on one thing, on one rank."""

    rank: int
    begin: int
    end: int
    activity: str


def critical_path(
    schedule: MessageSchedule,
    network: ClusterNetwork,
    outcome: SimulatedRun,
    speeds: np.ndarray | None = None,
) -> list[PathStretch]:
    """The stretches of the path, in the order of time; together they are as long as the whole simulation."""
    assert outcome.intervals is not None
    intervals = outcome.intervals
    if not len(intervals):
        return []
    walk = _PathWalk(schedule, network, intervals, speeds)
    current = int(np.argmax(intervals["end"]))
    stretches = list(walk.own(current, int(intervals["end"][current])))
    while True:
        row = intervals[current]
        begin, cause, why = int(row["begin"]), int(row["cause"]), int(row["why"])
        if cause == NO_CAUSE:
            if begin:
                stretches.append(PathStretch(int(row["rank"]), 0, begin, "waiting"))
            break
        stretches += walk.between(cause, why, current, begin)
        current = cause
    stretches.reverse()
    return [one for one in stretches if one.end > one.begin]


def timeline(
    schedule: MessageSchedule,
    network: ClusterNetwork,
    outcome: SimulatedRun,
    speeds: np.ndarray | None,
) -> list[PathStretch]:
    """What every rank did, and when; while nothing is told of it, it waited."""
    assert outcome.intervals is not None
    walk = _PathWalk(schedule, network, outcome.intervals, speeds)
    stretches: list[PathStretch] = []
    for number, end in enumerate(outcome.intervals["end"].tolist()):
        stretches += [one for one in walk.own(number, end) if one.end > one.begin]
    return stretches


class _PathWalk:
    def __init__(
        self,
        schedule: MessageSchedule,
        network: ClusterNetwork,
        intervals: np.ndarray,
        speeds: np.ndarray | None,
    ):
        self.schedule = schedule
        self.network = network
        self.intervals = intervals
        self.speeds = speeds
        # ranks without operations come before the one that begins at the same place
        rows = schedule.ranks
        self.order = np.lexsort((rows["nodes"], rows["node"]))
        self.starts = rows["node"][self.order]

    def between(
        self, cause: int, why: int, later: int, begin: int
    ) -> Iterator[PathStretch]:
        """What lies between the beginning of an interval's cause and its own one; the last comes first."""
        row = self.intervals[cause]
        rank, start, end = int(row["rank"]), int(row["begin"]), int(row["end"])
        if why == GAP:
            yield PathStretch(rank, start, begin, "gap")
            return
        if why == WIRE:
            to = int(self.intervals[later]["rank"])
            latency = self.network.level(rank, to).L
            yield PathStretch(rank, begin - latency, begin, "latency")
            end = begin - latency
        elif why == PROCESSOR and end < begin:
            yield PathStretch(rank, end, begin, "waiting")
        yield from self.own(cause, min(end, begin))

    def own(self, number: int, end: int) -> Iterator[PathStretch]:
        """What an interval was spent on until a time: what is longer than it should be is noise."""
        row = self.intervals[number]
        rank, begin = int(row["rank"]), int(row["begin"])
        parts = self._parts(row)
        noise = max(0, end - begin - sum(length for _, length in parts))
        for activity, length in [*parts, ("noise", noise)][::-1]:
            place = max(begin, end - length)
            yield PathStretch(rank, place, end, activity)
            end = place

    def _parts(self, row: np.void) -> list[tuple[str, int]]:
        rank, kind = int(row["rank"]), int(row["kind"])
        packed, peer, *_ = self.schedule.nodes[row["node"]].tolist()
        size = packed & LARGEST
        if kind == CALC:
            if self.speeds is not None:
                size = int(size * float(self.speeds[rank]) + 0.5)
            return [("work", size)]
        if kind == SEND:
            level = self.network.level(rank, peer)
            return [("overhead", level.o + max(0, level.send_charge(size)))]
        assert kind == RECV
        level = self.network.level(self._sender(row), rank)
        received = max(0, level.receive_charge(size))
        return [("overhead", level.o), ("bytes", received)]

    def _sender(self, row: np.void) -> int:
        """The rank whose node an interval of a message names; of ranks that begin there, the one with operations."""
        place = np.searchsorted(self.starts, row["node"], side="right") - 1
        return int(self.order[place])
