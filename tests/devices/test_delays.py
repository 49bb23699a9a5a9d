"""A second by which the device holds kernels up is a second that each timer sees; one that loses a wait is found."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from deep500.frameworks import framework
from deep500.graph import operator_times as operator_time_module
from deep500.graph.operator_times import operator_times, timed_rounds
from deep500.measure.clock import now
from deep500.measure.device_clock import DeviceClock
from deep500.measure.regions.region import Region, region
from deep500.testing import simulated_device
from deep500.testing.delays import (
    DelayedTime,
    Timer,
    Work,
    delay_slope,
    delayed_time,
    kernels_of,
)
from deep500.training import phases
from deep500.training import trainer as trainer_module
from deep500.user_files import imported

from .subjects import network, on_device

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "device_timers.py"
GOAL = 0.05
# long beside what other processes take from the host
LATENCIES_S = (0.004, 0.016)
MOST_TRIES = 10
SIM = "pytorch@sim:0"


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    simulated_device.load()
    yield


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    return imported(BENCHMARK)


@pytest.fixture(scope="module")
def timers(benchmark: ModuleType) -> dict[str, tuple[Timer, Work]]:
    sim = framework(SIM)
    sim.set_threads(1)
    return benchmark.timers(sim)


def best_slope(timer: Timer, work: Work, tries: int = MOST_TRIES) -> float:
    """The slope between the shortest times; other processes make times longer, and so each try brings it nearer."""
    kernels = kernels_of(work)
    timer()
    best = dict.fromkeys(LATENCIES_S, float("inf"))
    slope = 0.0
    for _ in range(tries):
        for latency in LATENCIES_S:
            seconds = delayed_time(timer, kernels, latency).seconds
            best[latency] = min(best[latency], seconds)
        times = [DelayedTime(best[s], kernels * s) for s in LATENCIES_S]
        slope = delay_slope(times)
        if abs(slope - 1) <= GOAL:
            break
    return slope


NAMES = (
    "events of the device",
    "host until it is idle",
    "d5 bench with --sync",
    "times of operators",
    "breakdown of a network",
    "steps of the trainer",
    "phases of the trainer",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_timer_sees_what_holds_kernels_up(name: str, timers: Any) -> None:
    assert best_slope(*timers[name]) == pytest.approx(1, abs=GOAL)


def test_every_timer_of_the_benchmark_is_tried(timers: Any) -> None:
    assert set(timers) == set(NAMES)


# ---- exact: the clock of a timer counts kernels that have run

HELD_UP_S = 0.016  # a kernel that nobody waits for has not run when the clock is read
COUNTED = (
    "host until it is idle",
    "times of operators",
    "breakdown of a network",
    "steps of the trainer",
    "phases of the trainer",
)


@pytest.fixture
def kernel_clock(monkeypatch: pytest.MonkeyPatch, benchmark: ModuleType) -> None:
    """Timers read a clock that advances by a second with each kernel that the device has run."""

    def kernels_ns() -> int:
        return simulated_device.ledger().kernels * 1_000_000_000

    for module in (benchmark, operator_time_module, trainer_module, phases):
        monkeypatch.setattr(module, "now", kernels_ns)


def timed_kernels(timer: Timer) -> float:
    return delayed_time(timer, 1, HELD_UP_S).seconds


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.usefixtures("kernel_clock")
def test_every_kernel_lies_inside_what_is_timed(name: str, timers: Any) -> None:
    timer, work = timers[name]
    # an operator without a kernel has the shortest time, a nanosecond
    assert timed_kernels(timer) == pytest.approx(kernels_of(work), abs=1e-6)


@pytest.mark.usefixtures("kernel_clock")
def test_a_kernel_outside_of_every_phase_is_found(
    timers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    timer, work = timers["phases of the trainer"]
    sim = framework(SIM)
    step = phases.PhasedStep.__call__

    def step_after_a_copy(self: Any, batch: Any) -> Any:
        labels = sim.tensor(batch["label"])
        sim.sync()
        return step(self, batch | {"label": labels})

    monkeypatch.setattr(phases.PhasedStep, "__call__", step_after_a_copy)
    assert timed_kernels(timer) == kernels_of(work) - 1


@pytest.mark.usefixtures("kernel_clock")
def test_a_phase_that_does_not_wait_is_found(
    timers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    timer, work = timers["phases of the trainer"]

    def without_wait(name: str, sync: object = None) -> Region:
        return region(name)

    monkeypatch.setattr(phases, "region", without_wait)
    assert timed_kernels(timer) < kernels_of(work)


def test_a_delay_is_that_of_the_step_alone(timers: Any) -> None:
    """Other kernels of the run have a delay of their own, which a busy machine makes longer."""
    timer, work = timers["phases of the trainer"]
    kernels = kernels_of(work)
    latency_s = 0.001
    with simulated_device.latency(latency_s), simulated_device.counting() as counts:
        reading = timer()
    others_s = counts.delay_ns / 1e9 - reading.delay_s
    assert reading.delay_s >= kernels * latency_s
    assert counts.kernels > kernels
    assert others_s >= (counts.kernels - kernels) * latency_s


# ---- timers that lose a wait


def chain_of(kernels: int) -> Work:
    x = framework(SIM).tensor(np.ones((4, 4), "float32"))

    def work() -> object:
        y = x
        for _ in range(kernels):
            y = y + x
        return y

    return work


def test_a_timer_that_never_waits_sees_nothing() -> None:
    work = chain_of(8)

    def timer() -> float:
        [[ns]] = timed_rounds([work], 1)
        return ns / 1e9

    assert best_slope(timer, work, 3) < 0.5


def test_a_timer_that_waits_before_its_last_kernel_is_found() -> None:
    """It loses one of five kernels."""
    sync = framework(SIM).sync
    most, last = chain_of(4), chain_of(1)

    def work() -> None:
        most()
        last()

    def timer() -> float:
        sync()
        began = now()
        most()
        sync()
        last()
        return (now() - began) / 1e9

    assert best_slope(timer, work, 3) == pytest.approx(0.8, abs=0.1)


def test_a_clock_whose_end_does_not_wait_is_found() -> None:
    fw = framework(SIM)
    work = chain_of(8)
    clock = DeviceClock(fw.event, lambda: None)

    def timer() -> float:
        fw.sync()
        clock.begin()
        began = now()
        work()
        clock.end()
        return (now() - began) / 1e9

    assert best_slope(timer, work, 3) < 0.5


def test_times_of_operators_without_a_wait_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fw = framework(SIM)
    net = network()
    executor = fw.executor(net)
    native = on_device(fw, net)

    def timer() -> float:
        return sum(t.ns[0] for t in operator_times(executor, native, rounds=1)) / 1e9

    monkeypatch.setattr(type(executor.framework), "sync", lambda self: None)
    assert best_slope(timer, chain_of(8), 3) < 0.5


def test_a_slope_is_that_of_a_line() -> None:
    times = [DelayedTime(5 + 0.9 * delay, delay) for delay in (1.0, 2.0, 4.0)]
    assert delay_slope(times) == pytest.approx(0.9)


def test_the_ledger_of_the_device_counts_what_has_run() -> None:
    work = chain_of(5)
    assert kernels_of(work) == 5
    with simulated_device.latency(0.002), simulated_device.counting() as counts:
        work()
    assert (counts.kernels, counts.launches) == (5, 5)
    assert counts.delay_ns >= 5 * 2_000_000
