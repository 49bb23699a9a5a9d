"""The CPU time of hooks after steps: estimated from a sample of light ones, exact for heavy ones."""

import pytest

from deep500.training import hook_time
from deep500.training.hook_time import HookTime


class Clocks:
    """A wall clock and a CPU clock that stand still unless a hook is run; the CPU clock counts its readings."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall_ns = self.cpu_ns = self.readings = 0
        monkeypatch.setattr(hook_time, "now", lambda: self.wall_ns)
        monkeypatch.setattr(hook_time.time, "process_time_ns", self.read)

    def read(self) -> int:
        self.readings += 1
        return self.cpu_ns

    def run(self, of: HookTime, wall_ns: int, cpu_ns: int) -> None:
        of.begin()
        self.wall_ns += wall_ns
        self.cpu_ns += cpu_ns
        of.end()


def test_light_hooks_are_sampled_and_have_the_ratio_of_the_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clocks, hooks = Clocks(monkeypatch), HookTime()
    for _ in range(160):
        clocks.run(hooks, wall_ns=2000, cpu_ns=1000)
    assert clocks.readings == 2 * 10
    assert hooks.cpu_seconds == pytest.approx(160 * 1000 / 1e9)


def test_heavy_hooks_are_read_at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks, hooks = Clocks(monkeypatch), HookTime()
    for step in range(100):
        # some wait, some use two CPUs
        clocks.run(hooks, 1_000_000, 2_000_000 if step % 3 else 0)
    assert clocks.readings == 2 * 100
    assert hooks.cpu_seconds == pytest.approx(66 * 2_000_000 / 1e9)


def test_without_hooks_there_is_no_cpu_time() -> None:
    assert HookTime().cpu_seconds == 0.0
