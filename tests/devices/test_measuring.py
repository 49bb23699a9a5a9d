"""Timers on a device: latency that is injected shows in each of them, and work that is left behind is found."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import deep500 as d5
from deep500.bench.operators.jobs import OperatorJob
from deep500.errors import Deep500Error, Refused, Unsupported
from deep500.frameworks import framework
from deep500.graph.operator_times import operator_times, timed_rounds
from deep500.measure.candidates import InProcess, Statement
from deep500.measure.clock import calibrate
from deep500.measure.device_clock import DeviceClock
from deep500.measure.device_work import check_nothing_is_left
from deep500.measure.plan import PlanEntry
from deep500.measure.running import run
from deep500.measure.session import Session
from deep500.testing import simulated_device

LATENCY_S = 0.001
SIM = "pytorch@sim:0"


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    simulated_device.load()
    yield


def mlp() -> Any:
    return d5.networks.Mlp(hidden=(4,)).build((6,), 3)


def batch() -> dict[str, np.ndarray]:
    return {"x": np.ones((4, 6), "float32"), "label": np.zeros(4, "int64")}


def launches(call: Callable[[], Any]) -> int:
    call()
    with simulated_device.counting() as counts:
        call()
    return counts.launches


def test_times_of_operators_include_what_they_launch() -> None:
    fw = framework(SIM)
    executor = fw.executor(mlp())
    inputs = {name: fw.tensor(value) for name, value in batch().items()}
    with simulated_device.latency(LATENCY_S):
        times = operator_times(executor, inputs, rounds=2)
    for time in times:
        assert min(time.ns) >= 0.95 * LATENCY_S * 1e9, time


def test_a_block_of_calls_is_timed_until_the_device_is_idle() -> None:
    fw = framework(SIM)
    x = fw.tensor(np.ones((4, 4), "float32"))
    with simulated_device.latency(LATENCY_S):
        [with_sync] = timed_rounds([lambda: x + x], 2, sync=fw.sync)
        [without] = timed_rounds([lambda: x + x], 2)
    fw.sync()
    assert min(with_sync) >= 0.95 * LATENCY_S * 1e9 > max(without)


def test_steps_phases_and_epochs_include_it() -> None:
    fw = framework(SIM)
    data = d5.datasets.SyntheticImages(32).load()
    net = d5.networks.Mlp(hidden=(4,)).build((1, 8, 8), 10)
    sampler = d5.samplers.ShuffleSampler(batch_size=16, seed=1)
    step = fw.executor(net).training_step(d5.optimizers.SGD(0.1))
    rows = data["train"].batch(slice(0, 16))
    count = launches(lambda: step(rows))
    trainer = d5.Trainer(
        fw.executor(net),
        d5.optimizers.SGD(0.1),
        splits=data,
        sampler=sampler,
        epochs=1,
        breakdown=True,
    )
    with simulated_device.latency(LATENCY_S):
        history = trainer.run()
    for i, seconds in enumerate(history.step_seconds):
        assert seconds >= 0.95 * LATENCY_S * count
        phases = [history.series[p][i] for p in ("forward", "backward", "update")]
        assert sum(phases) >= 0.9 * LATENCY_S * count


@pytest.mark.parametrize("breakdown", [False, True])
def test_a_first_step_begins_on_an_idle_device(
    breakdown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parameters that are restored behind the build are copied when the clock of a step could run already."""
    idle = []
    batches = d5.Trainer._batches

    def watched(trainer: d5.Trainer) -> Iterator[Any]:
        for batch in batches(trainer):
            idle.append(torch.accelerator.current_stream("sim:0").query())
            yield batch

    monkeypatch.setattr(d5.Trainer, "_batches", watched)
    net = d5.networks.Mlp(hidden=(4,)).build((1, 8, 8), 10)
    trainer = d5.Trainer(
        framework(SIM).executor(net),
        d5.optimizers.SGD(0.1),
        splits=d5.datasets.SyntheticImages(32).load(),
        sampler=d5.samplers.ShuffleSampler(batch_size=16, seed=1),
        epochs=1,
        breakdown=breakdown,
    )
    with simulated_device.latency(LATENCY_S):
        trainer.run()
    assert idle and all(idle)


# ---- work that is left behind

SETUP = """
import torch
from deep500.testing import simulated_device
simulated_device.load()
simulated_device.load().simulated_set_latency(1_000_000)
x = torch.ones(8, 8, device="sim")
"""


def test_a_statement_that_leaves_work_on_the_device_is_refused() -> None:
    asked = {"a": Statement("x @ x", SETUP)}
    match = r"'a' returns before its work.*--sync torch\."
    with pytest.raises(Deep500Error, match=match):
        run(asked, budget_s=0.5, processes=1, timeout_s=60)


@pytest.mark.parametrize(
    ("text", "sync"),
    [("x @ x", "torch.accelerator:synchronize"), ("(x @ x).cpu()", None)],
)
def test_with_a_wait_it_is_timed_whole(text: str, sync: str | None) -> None:
    result = run(
        {"a": Statement(text, SETUP)},
        budget_s=0.5,
        processes=1,
        timeout_s=60,
        sync=sync,
    )
    assert result.derived.entries[0].median >= 0.95 * LATENCY_S


def test_a_callable_of_this_process_is_refused_too() -> None:
    x = torch.ones(8, 8, device="sim")
    entry = PlanEntry("mine", InProcess(lambda: x @ x), {})
    with (
        simulated_device.latency(LATENCY_S),
        pytest.raises(Refused, match="the device of torch worked"),
    ):
        Session([entry], calibrate()).calibrate()


def test_statements_without_a_device_are_not_accused() -> None:
    entry = PlanEntry("mine", InProcess(lambda: sum(range(100))), {})
    Session([entry], calibrate()).calibrate()


def test_a_launch_that_costs_more_than_its_work_is_not_accused() -> None:
    x = torch.ones(8, device="sim")

    def visit() -> int:
        torch.accelerator.synchronize()
        return 1_000_000

    check_nothing_is_left("a", visit, 1_000_000)
    del x


def test_cold_caches_are_emptied_behind_the_inputs_and_outside_of_the_time() -> None:
    fw = framework(SIM)
    order: list[str] = []
    flush = fw.cold_caches()
    assert flush is not None and framework("pytorch").cold_caches() is None
    with simulated_device.counting() as counts:
        flush()
    assert (counts.launches, counts.waits) == (1, 0)
    clock = DeviceClock(
        fw.event, fw.sync, lambda: order.append("inputs"), lambda: order.append("flush")
    )
    with simulated_device.latency(LATENCY_S):
        clock.begin()
        clock.end()
    assert order == ["inputs", "flush"] and clock.elapsed_ns < LATENCY_S * 1e9


def test_caches_that_nothing_empties_are_not_called_cold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(type(framework(SIM)), "cold_caches", lambda self: None)
    job = OperatorJob("Relu", {}, "8x8", "float32", SIM, "", "forward", 1, cold=True)
    with pytest.raises(Unsupported, match="sim:0 has no way to empty the caches of"):
        job.subject()


@pytest.mark.parametrize(("cold", "flushed"), [(False, False), (True, True)])
def test_a_cold_job_flushes_the_device(cold: bool, flushed: bool) -> None:
    square = "8x8,8x8"
    job = OperatorJob("MatMul", {}, square, "float32", SIM, "", "forward", 1, cold=cold)
    clock = job.subject().device_clock
    assert clock is not None
    with simulated_device.counting() as counts:
        clock.begin()
    assert (counts.launches > 0) is flushed
