"""Batches that grow: their sizes, every example once, and what a run records and resumes."""

import numpy as np
import pytest

import deep500 as d5
from deep500.samplers import ScheduledSampler
from deep500.schedules import Piecewise, StepDecay

SAMPLER = ScheduledSampler(4, schedule=Piecewise((3,), (1, 2)))


def test_sizes_follow_the_schedule_over_the_epochs() -> None:
    sizes = [[len(batch) for batch in SAMPLER.epoch(20, epoch)] for epoch in range(2)]
    assert sizes == [[4, 4, 4, 8], [8, 8, 4]]
    assert SAMPLER.batch_sizes(20, 2) == [4, 8]
    assert SAMPLER.batch_sizes(21, 1) == [4, 8, 1]


def test_every_example_comes_once() -> None:
    for epoch in range(3):
        seen = np.concatenate(list(SAMPLER.epoch(23, epoch)))
        assert sorted(seen) == list(range(23))


def test_a_schedule_is_needed() -> None:
    with pytest.raises(
        d5.Deep500Error, match="the schedule of ScheduledSampler is None"
    ):
        ScheduledSampler(4)


def test_a_batch_has_at_least_one_example() -> None:
    shrinking = ScheduledSampler(4, schedule=StepDecay(1.0, 1, 0.1))
    assert [len(batch) for batch in shrinking.epoch(6, 0)] == [4, 1, 1]


def test_a_run_records_the_batch_of_every_step_and_resumes() -> None:
    data = d5.datasets.Digits().load()
    network = d5.networks.Mlp((8,)).build((1, 8, 8), 10, seed=0)
    sampler = ScheduledSampler(256, schedule=Piecewise((2,), (1, 2)))

    def trainer(epochs: int) -> d5.Trainer:
        executor = d5.framework("reference").executor(network)
        rate = d5.schedules.WarmUp(0.1, 4)
        optimizer = d5.optimizers.Momentum(rate) | d5.optimizers.ClipByNorm(1.0)
        return d5.Trainer(
            executor, optimizer, splits=data, sampler=sampler, epochs=epochs, events=[]
        )

    whole = trainer(2)
    history = whole.run()
    count = len(data["train"])
    expected = [
        len(batch) for epoch in range(2) for batch in sampler.epoch(count, epoch)
    ]
    assert history.series["batch"] == expected and {256, 512} < {*expected}
    first = trainer(1)
    first.run()
    second = trainer(2)
    second.run(first.checkpoint())
    for name, value in whole.executor.arrays().items():
        assert np.array_equal(value, second.executor.arrays()[name])
