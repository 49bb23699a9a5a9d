"""What ends a run before its last epoch, and that it says so."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deep500.training.checkpoint import load_checkpoint
from deep500.training.events import (
    Event,
    LossReached,
    NotFinite,
    Plateau,
    SaveCheckpoint,
    TargetReached,
    TimeLimit,
)
from deep500.training.trainer import Trainer

Make = Callable[..., Trainer]


class Spoil(Event):
    """Makes the parameters not a number after so many steps."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def after_step(self, trainer: Trainer, outputs: dict[str, Any]) -> None:
        if trainer.steps == self.steps:
            params = trainer.executor.arrays()
            trainer.executor.load(
                {name: value * np.nan for name, value in params.items()}
            )


class Slow(Event):
    """Every step has taken a second, says the history."""

    def after_step(self, trainer: Trainer, outputs: dict[str, Any]) -> None:
        trainer.series["seconds"][-1] = 1.0


def test_a_loss_that_is_not_finite_ends_the_run_after_its_epoch(trainer: Make) -> None:
    with np.errstate(invalid="ignore"):
        history = trainer(events=[Spoil(13)]).run()
    assert history.steps == 20
    assert history.ended == "the loss of step 14 is nan, not a finite number"
    assert history.evaluations[-1]["test"] is not None


@pytest.mark.parametrize(("every", "steps"), [(1, 14), (5, 15)])
def test_or_at_once_with_an_event(trainer: Make, every: int, steps: int) -> None:
    with np.errstate(invalid="ignore"):
        history = trainer(events=[Spoil(13), NotFinite(every)]).run()
    assert history.steps == len(history.losses) == steps
    assert history.ended == "the loss of step 14 is nan, not a finite number"
    assert [record["epoch"] for record in history.evaluations] == [1, 2]
    assert history.evaluations[-1]["step"] == steps


def test_a_run_that_went_to_its_end_says_nothing(trainer: Make) -> None:
    assert trainer(events=[NotFinite(), TimeLimit(1e6), Plateau(50)]).run().ended == ""


def test_the_time_limit_counts_training_and_ends_within_an_epoch(
    trainer: Make, tmp_path: Path
) -> None:
    path = tmp_path / "run.safetensors"
    history = trainer(events=[Slow(), TimeLimit(13), SaveCheckpoint(path)]).run()
    assert history.steps == 13 and history.samples == 150 + 3 * 16
    assert history.ended == "the limit of 13 s of training is reached"
    assert history.evaluations[-1]["seconds"] == 13 and history.evaluations[-1]["test"]
    again = trainer(events=[Slow(), TimeLimit(13)]).run(load_checkpoint(path))
    assert again.series == history.series and again.evaluations == history.evaluations
    more = trainer(events=[Slow(), TimeLimit(22)]).run(load_checkpoint(path))
    assert more.steps == 22 and more.samples == 300 + 2 * 16


def test_a_plateau_is_epochs_without_anything_better(trainer: Make) -> None:
    every = trainer(epochs=40).run().evaluations
    values = [record["validation"]["accuracy"] for record in every]
    history = trainer(epochs=40, events=[Plateau(4)]).run()
    count = len(history.evaluations)
    assert 4 < count < 40
    best = values.index(max(values[:count]))
    assert count - 1 - best == 4
    assert history.ended == "validation accuracy has not got better for 4 epochs"
    assert (
        len(trainer(epochs=9, events=[Plateau(2, change=100.0)]).run().evaluations) == 3
    )


def test_a_plateau_of_a_quality_that_should_be_low(trainer: Make) -> None:
    class Rising(Event):
        def after_epoch(self, trainer: Trainer, record: dict[str, Any]) -> None:
            record["validation"]["accuracy"] = record["epoch"]

    class Low(type(trainer().task)):  # type: ignore[misc]
        qualities = tuple(
            type(quality)(quality.name, quality.unit, "lower")
            for quality in trainer().task.qualities
        )

    history = trainer(epochs=9, task=Low(), events=[Rising(), Plateau(3)]).run()
    assert len(history.evaluations) == 4


def test_a_loss_is_reached_by_the_mean_of_an_epoch(trainer: Make) -> None:
    losses = trainer(epochs=8).run().losses
    means = [math.fsum(losses[i : i + 10]) / 10 for i in range(0, 80, 10)]
    target = (means[2] + means[3]) / 2
    assert means[2] > target > means[3]
    history = trainer(epochs=8, events=[LossReached(target)]).run()
    assert history.steps == 40
    assert history.ended == f"the training loss has reached {target:g}"


def test_the_reason_of_a_target(trainer: Make) -> None:
    history = trainer(epochs=30, events=[TargetReached(15.0)]).run()
    assert history.ended == "validation accuracy has reached 15 %"


def test_an_event_without_a_reason_is_named(trainer: Make) -> None:
    class Enough(Event):
        def after_step(self, trainer: Trainer, outputs: dict[str, Any]) -> bool:
            return trainer.steps == 3

    history = trainer(events=[Enough()]).run()
    assert history.steps == 3 and history.ended == "Enough says so"
