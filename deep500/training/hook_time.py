"""The CPU time of the hooks after steps, at little cost: reading that clock is a system call of about 2 µs."""

import time

from ..measure.clock import now

SAMPLED = 16  # the CPU clock is read around the hooks of one step in so many
HEAVY_NS = 100_000  # hooks that take longer on average are always read


class HookTime:
    """Times the hooks of every step by the wall clock, and those of some by the CPU clock too.

    All hooks are taken to have the ratio of CPU time to wall time of those that were read. Hooks that take long are
    read at every step, so that their CPU time is exact.
    """

    def __init__(self) -> None:
        self._steps = 0
        self._wall_ns = 0
        self._sampled_wall_ns = 0
        self._sampled_cpu_ns = 0
        self._is_sampled = False
        self._cpu_begin = 0
        self._wall_begin = 0

    def begin(self) -> None:
        is_heavy = self._wall_ns > HEAVY_NS * self._steps
        self._is_sampled = is_heavy or self._steps % SAMPLED == 0
        if self._is_sampled:
            self._cpu_begin = time.process_time_ns()
        self._wall_begin = now()

    def end(self) -> None:
        wall_ns = now() - self._wall_begin
        self._steps += 1
        self._wall_ns += wall_ns
        if self._is_sampled:
            self._sampled_cpu_ns += time.process_time_ns() - self._cpu_begin
            self._sampled_wall_ns += wall_ns

    @property
    def cpu_seconds(self) -> float:
        if not self._sampled_wall_ns:
            return 0.0
        ratio = self._sampled_cpu_ns / self._sampled_wall_ns
        return self._wall_ns * ratio / 1e9
