"""Latency that is injected into every kernel of the simulated device, as each timer of Deep500 sees it.

    python benchmarks/device_timers.py [--rounds 20]

Every timer times the same work with kernels that take 1, 2 and 4 ms longer, in random order. Printed is the median
over the rounds of the slope between them: seconds that the timer sees of every second by which the device has held
the kernels up, which must be 1, with its interval. Exits with 1 unless every interval lies within 5 % of it.
"""

import argparse
import random
import sys
from typing import Any

import numpy as np

import deep500 as d5
from deep500.contracts.framework import Framework
from deep500.contracts.metric import History
from deep500.contracts.network import Network
from deep500.graph.operator_times import node_calls, operator_times, timed_rounds
from deep500.measure.candidates import InProcess
from deep500.measure.clock import calibrate, now
from deep500.measure.device_clock import DeviceClock
from deep500.measure.plan import PlanEntry
from deep500.measure.session import Session
from deep500.measure.statistics.intervals import interval
from deep500.testing import simulated_device
from deep500.testing.delays import (
    LATENCIES_S,
    DelayedTime,
    Timer,
    Work,
    delay_slope,
    delayed_time,
    kernels_of,
)
from deep500.training.breakdown import STEP
from deep500.training.matching import Splits

GOAL = 0.05


class LedgerOfSteps(d5.events.Event):
    """What the device has run by the end of each step of a trainer, which also runs kernels outside of its steps."""

    def __init__(self) -> None:
        self.after_steps: list[simulated_device.KernelLedger] = []

    def after_step(self, trainer: d5.Trainer, outputs: dict[str, Any]) -> None:
        self.after_steps.append(simulated_device.ledger())


def trainer_timers(sim: Framework, net: Network, data: Splits) -> tuple[Timer, Timer]:
    """Timers of the second step of a trainer: as a whole, and by its phases."""

    def second_step(breakdown: bool) -> tuple[History, float]:
        """A run of the trainer, and the seconds by which kernels of its second step were held up."""
        ledgers = LedgerOfSteps()
        trainer = d5.Trainer(
            sim.executor(net),
            d5.optimizers.SGD(0.01),
            splits=data,
            sampler=d5.samplers.ShuffleSampler(16, seed=1),
            epochs=1,
            events=[ledgers],
            breakdown=breakdown,
        )
        history = trainer.run()
        before, after = ledgers.after_steps
        return history, (after.delay_ns - before.delay_ns) / 1e9

    def of_trainer() -> DelayedTime:
        history, delay_s = second_step(False)
        return DelayedTime(history.step_seconds[1], delay_s)

    def of_phases() -> DelayedTime:
        history, delay_s = second_step(True)
        phases = [history.series[phase][1] for phase in STEP]
        return DelayedTime(sum(phases), delay_s)

    return of_trainer, of_phases


def timers(sim: Framework) -> dict[str, tuple[Timer, Work]]:
    """By name a timer, and the work that it times once."""
    data = d5.datasets.SyntheticImages(32).load()
    net = d5.networks.Mlp(hidden=(8,)).build((1, 8, 8), 10)
    rows = data["train"].batch(slice(0, 16))
    executor = sim.executor(net)
    step = executor.training_step(d5.optimizers.SGD(0.01))
    native = {name: sim.tensor(value) for name, value in rows.items()}
    clock = DeviceClock(sim.event, sim.sync)
    x = sim.tensor(np.ones((32, 32), "float32"))

    def product() -> object:
        return x @ x

    def by_clock(events: bool) -> Timer:
        def seconds() -> float:
            clock.begin()
            began = now()
            product()
            clock.end()
            host_ns = now() - began
            return (clock.elapsed_ns if events else host_ns) / 1e9

        return seconds

    def of_operators() -> float:
        times = operator_times(executor, native, rounds=1)
        return sum(time.ns[0] for time in times) / 1e9

    def of_breakdown() -> float:
        [[ns]] = timed_rounds([lambda: step(native)], 1, sync=sim.sync)
        return ns / 1e9

    entry = PlanEntry("product", InProcess(product), {})
    session = Session([entry], calibrate(), sync=sim.sync)

    def of_bench() -> float:
        return session.block([1], [[0]]).ns[0][0] / 1e9

    of_trainer, of_phases = trainer_timers(sim, net, data)
    calls = node_calls(executor, native)

    def each_operator() -> None:
        for call in calls:
            call.run()

    return {
        "events of the device": (by_clock(True), product),
        "host until it is idle": (by_clock(False), product),
        "d5 bench with --sync": (of_bench, product),
        "times of operators": (of_operators, each_operator),
        "breakdown of a network": (of_breakdown, lambda: step(native)),
        "steps of the trainer": (of_trainer, lambda: step(rows)),
        "phases of the trainer": (of_phases, lambda: step(rows)),
    }


def slopes(timer: Timer, work: Work, rounds: int) -> list[float]:
    """The slope of each round."""
    kernels = kernels_of(work)
    timer()
    found = []
    rng = random.Random(0)
    for _ in range(rounds):
        latencies = rng.sample(LATENCIES_S, len(LATENCIES_S))
        times = [delayed_time(timer, kernels, latency) for latency in latencies]
        found.append(delay_slope(times))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    sim = d5.framework("pytorch").on("sim")
    sim.set_threads(1)
    is_shown = True
    for name, (timer, work) in timers(sim).items():
        found = interval(np.array(slopes(timer, work, args.rounds)), 0.5, 0.95)
        is_within = 1 - GOAL <= found.low and found.high <= 1 + GOAL
        is_shown &= is_within
        print(
            f"{name:26} {found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}] n = {args.rounds}"
            f"{'' if is_within else '   NOT SHOWN'}",
            flush=True,
        )
    return int(not is_shown)


if __name__ == "__main__":
    sys.exit(main())
