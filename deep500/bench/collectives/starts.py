"""How all ranks begin a measured call together: at the end of a delay window, or behind a barrier."""

import os
import time
from abc import ABC, abstractmethod

import numpy as np

from ...contracts.transport import Transport, all_gather, barrier, broadcast
from ..ranks import carried_out
from .clocks import Offset

WARM_UP = 20
SHORTEST_NS = 20_000
# a window that would have to be longer says that the ranks hardly run at the same time
LONGEST_NS = 20_000_000


class Start(ABC):
    """Returns when this rank may begin; `delay` is that of the window in ns, 0 without one."""

    name: str
    delay = 0

    def __init__(self, transport: Transport, offset: Offset):
        self.transport = transport
        self.offset = offset
        [self.rank] = transport.ranks

    def now(self) -> int:
        """The time by rank 0's clock, in ns."""
        return time.perf_counter_ns() + self.offset.ns

    @abstractmethod
    def wait(self) -> None: ...


class BarrierStart(Start):
    """Behind a barrier, which says nothing about when the others leave it."""

    name = "barrier"

    def wait(self) -> None:
        carried_out(self.transport, barrier())


class WindowStart(Start):
    """Rank 0 says when, a little later than its message takes; all wait for that time by its clock."""

    name = "window"

    def __init__(self, transport: Transport, offset: Offset, is_crowded: bool):
        super().__init__(transport, offset)
        self.is_crowded = is_crowded
        self.chosen = np.zeros(1, np.int64)

    def wait(self) -> None:
        self._choose()
        begin = int(self.chosen[0])
        while self.now() < begin:
            if self.is_crowded:
                # whoever shares this processor is to begin at the same time
                os.sched_yield()

    def _choose(self) -> None:
        self.chosen[0] = self.now() + self.delay
        carried_out(self.transport, broadcast(self.chosen))

    def calibrate(self) -> None:
        """Set the delay to twice the time that rank 0's message takes to the last rank, in 9 of 10 cases."""
        slowest = []
        for _ in range(WARM_UP):
            self._choose()
            taken = np.array([self.now() - int(self.chosen[0])])
            takens = carried_out(self.transport, all_gather(taken))
            slowest.append(max(int(one[0]) for one in takens))
        decided = np.array([2 * sorted(slowest)[int(0.9 * WARM_UP)]])
        carried_out(self.transport, broadcast(decided))
        self.delay = max(SHORTEST_NS, int(decided[0]))


def common_start(
    name: str, transport: Transport, offset: Offset, is_crowded: bool
) -> Start:
    """The start that is asked for; the barrier where windows would have to be too long."""
    if name == BarrierStart.name:
        return BarrierStart(transport, offset)
    window = WindowStart(transport, offset, is_crowded)
    window.calibrate()
    if window.delay > LONGEST_NS:
        return BarrierStart(transport, offset)
    return window
