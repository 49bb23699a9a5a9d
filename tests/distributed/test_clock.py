"""A step goes from batch to batch: whatever a scheme does in it, wherever, is in its time, on every transport."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deep500.contracts.loggp import LogGP
from deep500.distributed.launching import launch, python_command
from deep500.schemes.local_sgd import LocalSGD
from deep500.schemes.pairwise_gossip import PairwiseGossip
from deep500.transports.virtual import Virtual

from .clock_ranks import PLACES, SLEEP, schemes
from .training import distributed

ROOT = Path(__file__).parents[2]
STEPS = 4
ALONE = ("Ensemble",)  # communicates in evaluations only


@pytest.mark.parametrize("transport", ["mpi", "torch"])
def test_planted_sleeps_are_in_the_time_of_steps(transport: str) -> None:
    env = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = python_command("-m", "tests.distributed.clock_ranks", transport)
    done = launch(command, 2, transport, grace=30, capture=True, env=env)
    assert done.code == 0, done.output
    lines = [
        json.loads(line) for line in done.output.splitlines() if line.startswith("[")
    ]
    wanted = {
        (name, place, rank) for name in schemes() for place in PLACES for rank in (0, 1)
    }
    assert {(name, place, run["rank"]) for name, place, run in lines} == wanted
    for name, place, run in lines:
        _check_times(f"{name}, sleep {place}", name, run)


def _check_times(case: str, name: str, run: dict[str, Any]) -> None:
    total = math.fsum(run["seconds"])
    assert total <= run["elapsed"], case
    assert math.fsum(run["waiting"]) <= total, case
    if not run["seconds"]:  # a server
        return
    assert len(run["seconds"]) == STEPS, case
    assert (math.fsum(run["waiting"]) > 0) == (name not in ALONE), case
    if run["planted"]:
        assert run["planted"] == pytest.approx(STEPS * SLEEP), case
        assert total >= run["planted"], case
        assert min(run["seconds"]) >= SLEEP, case
        assert math.fsum(run["slowest"]) >= run["planted"], case


@pytest.mark.parametrize("name", [*schemes()])
def test_steps_of_virtual_ranks_add_up_to_the_epoch(name: str) -> None:
    network = LogGP(L=1e-3, o=1e-3, g=1e-3, G=1e-8)
    transport = Virtual(2, network, compute=0.01)
    run = distributed(schemes()[name], transport=transport, epochs=1)
    clocks: dict[int, list[float]] = {}
    for rank, replica in run.replicas.items():
        clocks[rank] = []

        def begin_epoch(
            shards: Any, rank: int = rank, begin: Any = replica.begin_epoch
        ) -> None:
            begin(shards)
            clocks[rank].append(transport.clock(rank))

        def end_epoch(rank: int = rank, end: Any = replica.end_epoch) -> None:
            end()
            clocks[rank].append(transport.clock(rank))

        replica.begin_epoch = begin_epoch
        replica.end_epoch = end_epoch
    history = run.run()
    for rank in run.trainers:
        begin, end = clocks[rank]
        seconds = history.series[f"seconds of rank {rank}"]
        assert math.fsum(seconds) == pytest.approx(end - begin, rel=1e-12)


@pytest.mark.parametrize(
    "scheme", [LocalSGD(period=1), LocalSGD(period=4), PairwiseGossip()]
)
def test_what_follows_an_update_is_waiting(scheme: Any) -> None:
    """The last average of an epoch, too."""
    transport = Virtual(2, LogGP(L=1.0), compute=0.01)
    history = distributed(scheme, transport=transport, epochs=1).run()
    for rank in (0, 1):
        waiting = history.series[f"waiting of rank {rank}"]
        averages = STEPS // getattr(scheme, "period", 1)
        assert math.fsum(waiting) >= averages
        assert waiting[-1] >= 1.0


def test_an_event_sees_the_step_that_is_done() -> None:
    """After the update, parameters are averaged: what an event then saves is what the next step begins with."""
    saved, begun = [], []
    run = distributed(LocalSGD(period=1), ranks=2, epochs=1)
    record, backprop = run._after_step, run.lead.backprop

    def keep(replica: Any, outputs: Any) -> None:
        record(replica, outputs)
        saved.append(replica.params()["float32"].copy())

    def begin() -> Any:
        begun.append(run.lead.params()["float32"].copy())
        return backprop()

    run.lead.after_step = keep
    run.lead.backprop = begin
    run.run()
    assert len(saved) == len(begun) == STEPS
    for before, after in zip(saved, begun[1:], strict=False):
        assert np.array_equal(before, after)
