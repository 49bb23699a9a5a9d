"""Events through the eyes of somebody who does not trust them: bad settings, series of any length, wrapped models."""

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deep500.contracts.dataset import Split
from deep500.errors import Deep500Error
from deep500.frameworks import framework
from deep500.optimizers import Adam
from deep500.samplers import ShuffleSampler
from deep500.training.breakdown import PARTS
from deep500.training.checkpoint import load_checkpoint
from deep500.training.events import (
    Event,
    LossReached,
    NotFinite,
    Plateau,
    ProgressBar,
    SaveCheckpoint,
    SaveCurves,
    TargetReached,
    TimeLimit,
    WriteCsv,
    WriteTensorboard,
)
from deep500.training.trainer import Trainer

from .test_checkpoint import Interrupt, interrupted, same
from .test_writing_events import rows, scalars

Make = Callable[..., Trainer]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Plateau(0),
        lambda: Plateau(2.5),  # type: ignore[arg-type]
        lambda: Plateau(3, change=math.nan),
        lambda: TimeLimit(0),
        lambda: TimeLimit(math.inf),
        lambda: LossReached(math.nan),
        lambda: TargetReached("97"),  # type: ignore[arg-type]
        lambda: NotFinite(0),
        lambda: SaveCheckpoint("x", every=-1),
        lambda: SaveCheckpoint("x", every=True),
    ],
)
def test_a_bad_setting_is_refused_when_the_event_is_made(
    make: Callable[[], Event],
) -> None:
    with pytest.raises(Deep500Error, match="and it must be"):
        make()


class Never(Event):
    """No step may be done."""

    def after_step(self, trainer: Trainer, outputs: dict[str, Any]) -> None:
        raise AssertionError("a step was done")


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: WriteCsv(folder / "no" / "x.csv"),
        lambda folder: WriteCsv(folder),
        lambda folder: SaveCurves(folder / "no" / "x.png"),
        lambda folder: SaveCurves(folder / "x.png", quality="beauty"),
        lambda folder: SaveCheckpoint(folder / "no" / "x.safetensors"),
        lambda folder: Plateau(1, quality="beauty"),
        lambda folder: TargetReached(1, quality="beauty"),
    ],
)
def test_what_cannot_work_is_told_before_the_first_step(
    trainer: Make, tmp_path: Path, make: Callable[[Path], Event]
) -> None:
    with pytest.raises(Deep500Error, match="cannot be written|beauty"):
        trainer(epochs=1, events=[make(tmp_path), Never()]).run()


class Numbers(Event):
    """Records a number for each step, one for each epoch, and one for every third step."""

    def after_step(self, trainer: Trainer, outputs: dict[str, Any]) -> None:
        trainer.record("of steps", trainer.steps)
        if trainer.steps % 3 == 0:
            trainer.record("now and then", trainer.steps)

    def after_epoch(self, trainer: Trainer, record: dict[str, Any]) -> None:
        trainer.record("of epochs", 10 * record["epoch"])


def test_numbers_are_written_at_the_steps_that_they_belong_to(
    trainer: Make, tmp_path: Path
) -> None:
    table, folder = tmp_path / "run.csv", tmp_path / "runs"
    # the recording event comes last, and is told first
    trainer(
        epochs=2, events=[WriteCsv(table), WriteTensorboard(folder), Numbers()]
    ).run()
    found = rows(table)
    assert [float(row["of steps"]) for row in found] == [*range(1, 21)]
    of_epochs = {
        int(row["step"]): row["of epochs"] for row in found if row["of epochs"]
    }
    assert of_epochs == {10: "10.0", 20: "20.0"}
    assert "now and then" not in found[0]
    assert scalars(folder)["train/of epochs"] == [(10, 10.0), (20, 20.0)]


def wrapped_pytorch() -> Any:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layers = [torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)]
    fw = framework("pytorch")
    fw.set_threads(1)
    loss = torch.nn.CrossEntropyLoss()
    module = torch.nn.Sequential(*layers)
    return fw.from_model(module, loss=loss, inputs=["x"], outputs=["logits"], seed=0)


def wrapped_jax() -> Any:
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(0)
    params = {
        "w": rng.standard_normal((6, 3)).astype("float32"),
        "b": np.zeros(3, "float32"),
    }

    def model(params: Any, x: Any) -> Any:
        return jax.numpy.tanh(x) @ params["w"] + params["b"]

    fw = framework("jax")
    return fw.from_model(model, params=params, inputs=["x"], outputs=["logits"])


def wrapped_keras() -> Any:
    tensorflow: Any = pytest.importorskip("tensorflow")
    layers = tensorflow.keras.layers
    tensorflow.keras.utils.set_random_seed(0)
    inputs = tensorflow.keras.Input((6,), name="x")
    hidden = layers.Dense(8, "tanh")(inputs)
    model = tensorflow.keras.Model(inputs, layers.Dense(3, name="logits")(hidden))
    return framework("tensorflow").from_model(model, inputs=["x"], outputs=["logits"])


def data() -> dict[str, Split]:
    """Seven batches of eight and one of five."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((61, 6)).astype("float32")
    split = Split({"x": x, "label": x[:, :3].argmax(axis=1)})
    return dict.fromkeys(("train", "validation", "test"), split)


@pytest.mark.parametrize("make", [wrapped_pytorch, wrapped_jax, wrapped_keras])
def test_every_event_works_with_a_model_of_ones_own(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    table, path = tmp_path / "run.csv", tmp_path / "run.safetensors"
    writers = [
        WriteCsv(table),
        WriteTensorboard(tmp_path),
        SaveCurves(tmp_path / "x.svg"),
    ]
    stopping = [
        TargetReached(101),
        LossReached(-1),
        Plateau(50),
        TimeLimit(1e6),
        NotFinite(),
    ]
    events = [ProgressBar(), *writers, *stopping, SaveCheckpoint(path)]
    run = Trainer(
        make(),
        Adam(0.05),
        splits=data(),
        sampler=ShuffleSampler(8, seed=0),
        epochs=3,
        events=events,
        breakdown=True,
    )
    history = run.run()
    assert history.steps == 3 * 8 and history.samples == 3 * 61 and history.ended == ""
    assert history.series["batch"][:8] == [8.0] * 7 + [5.0]
    parts = run.time_by_part()
    assert tuple(parts) == PARTS and min(parts.values()) >= 0
    assert math.fsum(parts.values()) == pytest.approx(history.counters["run seconds"])
    right = 61 * history.evaluations[-1]["test"]["accuracy"] / 100
    assert right == pytest.approx(round(right)) and right > 30  # all 61 were counted
    with open(table, newline="", encoding="utf-8") as file:
        assert len([*csv.DictReader(file)]) == 24
    again = Trainer(
        make(),
        Adam(0.05),
        splits=data(),
        sampler=ShuffleSampler(8, seed=0),
        epochs=3,
        events=[],
    )
    resumed = again.run(load_checkpoint(path))
    assert resumed.losses == history.losses


@pytest.mark.parametrize("make", [wrapped_pytorch, wrapped_jax, wrapped_keras])
def test_a_model_of_ones_own_is_resumed_within_an_epoch(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    def run(*events: Event) -> Trainer:
        return Trainer(
            make(),
            Adam(0.05),
            splits=data(),
            sampler=ShuffleSampler(8, seed=0),
            epochs=2,
            events=events,
        )

    path = tmp_path / "run.safetensors"
    whole = run()
    history = whole.run()
    interrupted(run(Interrupt(11, path)))
    resumed = run()
    again = resumed.run(load_checkpoint(path))
    assert again.losses == history.losses and again.evaluations[-1]["test"] is not None
    assert same(resumed.executor.arrays(), whole.executor.arrays())
