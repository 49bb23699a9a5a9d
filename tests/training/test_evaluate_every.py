"""Evaluation within epochs: at the right steps, of the parameters of that step, and without a trace in the training."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deep500 import bundle, cli, registry
from deep500.bundle.records.bundle_comparison import compare
from deep500.bundle.records.verification import verify
from deep500.contracts.dataset import Split
from deep500.contracts.metric import History
from deep500.errors import Deep500Error
from deep500.frameworks import available_frameworks, framework
from deep500.metrics.steps_to_accuracy import StepsToAccuracy
from deep500.metrics.time_to_accuracy import TimeToAccuracy
from deep500.rerun.recipe_files import load_recipe
from deep500.rerun.recipe_runner import Outcome, run
from deep500.samplers.shuffle_sampler import ShuffleSampler
from deep500.training.checkpoint import load_checkpoint, save_checkpoint
from deep500.training.events import Event
from deep500.training.recipe_blocks import epochs_of
from deep500.training.trainer import Trainer

from .softmax_regression import PAIRS, mlp

Make = Callable[..., Trainer]
# 150 examples make 10 batches of 16; 4 epochs
EPOCH_ENDS = [10, 20, 30, 40]
RECIPE = """
import deep500 as d5

FIXED = {"model": "mlp", "dataset": "digits", "epochs": 2}
MUTABLE = {
    "batch_size": 64, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1),
}
METRICS = [(d5.metrics.StepsToAccuracy(50.0), None), (d5.TimeToAccuracy(50.0), None)]
"""
STEPS_OF_EPOCH = 17


def steps_of(records: list[dict[str, Any]]) -> list[int]:
    return [record["step"] for record in records]


def accuracy_by_hand(pair: str, splits: dict[str, Split], steps: int) -> float:
    """The validation accuracy after so many steps of a loop that is written out."""
    executor, optimizer = PAIRS[pair]()
    step, train = executor.training_step(optimizer), splits["train"].arrays
    batches: list[np.ndarray] = []
    for epoch in range(4):
        batches += ShuffleSampler(16, seed=7).epoch(150, epoch)
    for rows in batches[:steps]:
        step({name: train[name][rows] for name in ("x", "label")})
    validation = splits["validation"].arrays
    logits = executor.inference(validation)["logits"]
    right = np.argmax(logits, axis=1) == validation["label"]
    return 100 * float(right.mean())


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(
    ("every", "within"),
    [
        (4, [4, 8, 14, 18, 24, 28, 34, 38]),
        (5, [5, 15, 25, 35]),
        (10, []),
        (99, []),
    ],
)
def test_it_evaluates_after_every_so_many_steps_of_an_epoch(
    trainer: Make, splits: dict[str, Split], pair: str, every: int, within: list[int]
) -> None:
    history = trainer(pair, evaluate_every=every).run()
    assert steps_of(history.within_epochs) == within
    assert steps_of(history.evaluations) == EPOCH_ENDS
    assert steps_of(history.looks) == sorted(within + EPOCH_ENDS)
    for look in history.looks:
        step = look["step"]
        assert look["epoch"] == math.ceil(step / 10)
        assert look["seconds"] == math.fsum(history.step_seconds[:step])
        expected = accuracy_by_hand(pair, splits, step)
        assert look["validation"]["accuracy"] == pytest.approx(expected, abs=1e-9)


def goal_between_epochs(history: History) -> float:
    """A level that is first reached within an epoch."""
    best = -1.0
    for look in history.looks:
        accuracy = look["validation"]["accuracy"]
        if accuracy > best and look in history.within_epochs:
            return accuracy
        best = max(best, accuracy)
    raise AssertionError("no level is first reached within an epoch")


def check_finer(history: History) -> None:
    """The steps and the time to an accuracy are those of a look within an epoch, not of the epoch's end."""
    level = goal_between_epochs(history)
    steps = StepsToAccuracy(level).value(history)
    assert steps is not None and steps % 10 != 0
    before = StepsToAccuracy(level).not_before(history)
    assert before is not None and 0 < steps - before <= 4
    time = TimeToAccuracy(level).value(history)
    assert time == math.fsum(history.step_seconds[: int(steps)])


def test_goals_are_seen_within_epochs(trainer: Make) -> None:
    check_finer(trainer("reference", evaluate_every=4).run())


def test_a_trainer_that_reports_whole_epochs_only_is_noticed(
    trainer: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trainer, "_is_look_due", lambda self: False)
    with pytest.raises(AssertionError, match="no level"):
        check_finer(trainer("reference", evaluate_every=4).run())


@pytest.mark.parametrize("name", available_frameworks())
def test_it_leaves_no_trace_in_the_training(trainer: Make, name: str) -> None:
    adam = registry.find("optimizers", "Adam")()
    framework(name).set_threads(1)
    plain = trainer(executor=mlp(name), optimizer=adam, epochs=2)
    finer = trainer(executor=mlp(name), optimizer=adam, epochs=2, evaluate_every=3)
    expected, history = plain.run(), finer.run()
    assert history.losses == expected.losses
    assert [e["validation"] for e in history.evaluations] == [
        e["validation"] for e in expected.evaluations
    ]
    assert steps_of(history.within_epochs) == [3, 6, 9, 13, 16, 19]
    weights, others = plain.executor.arrays(), finer.executor.arrays()
    assert all(np.array_equal(weights[key], others[key]) for key in weights)


def test_no_step_contains_an_evaluation(
    trainer: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every evaluation adds an hour to the clock: none of it is in a step."""
    from deep500.training import trainer as module

    hours = 0
    now, evaluate = module.now, module.evaluate

    def slow_evaluate(*args: Any) -> dict[str, float]:
        nonlocal hours
        hours += 1
        return evaluate(*args)

    monkeypatch.setattr(module, "now", lambda: now() + hours * 3600 * 10**9)
    monkeypatch.setattr(module, "evaluate", slow_evaluate)
    history = trainer("reference", evaluate_every=4).run()
    assert hours == 4 + 8 + 1
    assert sum(history.step_seconds) + sum(history.series["data"]) < 3600
    assert history.counters["evaluation seconds"] >= 13 * 3600


def test_a_run_that_ends_within_an_epoch_is_evaluated_once_there(trainer: Make) -> None:
    class StopAt(Event):
        def after_step(self, trainer: Trainer, outputs: dict[str, Any]) -> bool:
            return trainer.steps == 14

    history = trainer("reference", evaluate_every=4, events=[StopAt()]).run()
    assert steps_of(history.looks) == [4, 8, 10, 14]
    assert steps_of(history.evaluations) == [10, 14]


class InterruptAt(Event):
    """Saves where the run is after a step, and ends the process's training."""

    def __init__(self, step: int, path: Path) -> None:
        self.step, self.path = step, path

    def after_step(self, trainer: Trainer, outputs: dict[str, Any]) -> None:
        if trainer.steps == self.step:
            save_checkpoint(self.path, trainer.checkpoint())
            raise KeyboardInterrupt


@pytest.mark.parametrize("step", [3, 4, 6, 10, 14, 20, 38, 40])
def test_a_run_goes_on_between_two_evaluations_of_an_epoch(
    trainer: Make, tmp_path: Path, step: int
) -> None:
    path = tmp_path / "run.safetensors"
    whole = trainer("softmax regression", evaluate_every=4).run()
    with pytest.raises(KeyboardInterrupt):
        trainer(
            "softmax regression", evaluate_every=4, events=[InterruptAt(step, path)]
        ).run()
    resumed = trainer("softmax regression", evaluate_every=4)
    history = resumed.run(load_checkpoint(path))
    assert history.losses == whole.losses
    assert [(e["step"], e["validation"]) for e in history.looks] == [
        (e["step"], e["validation"]) for e in whole.looks
    ]
    assert history.evaluations[-1]["test"] == whole.evaluations[-1]["test"]


@pytest.mark.parametrize("steps", [0, -3, 2.5, True, "often"])
def test_what_is_no_number_of_steps_is_refused(trainer: Make, steps: Any) -> None:
    with pytest.raises(Deep500Error, match="evaluate_every is .*: give a number"):
        trainer("reference", evaluate_every=steps)


# Recipes


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    path = tmp_path / "small.py"
    path.write_text(RECIPE)
    return path


def finer_run(recipe: Path, name: str, **options: Any) -> Outcome:
    changed = load_recipe(recipe).with_settings({"evaluate_every": 5})
    return run(changed, recipe.parent / name, "full", seeds=3, **options)


def test_a_recipe_evaluates_within_epochs(recipe: Path) -> None:
    plain = run(load_recipe(recipe), recipe.parent / "plain", "full", seeds=3)
    finer = finer_run(recipe, "finer")
    assert verify(finer.bundle).ok and plain.record.plan.evaluate_every is None
    assert bundle.read(finer.bundle).files == bundle.read(plain.bundle).files
    within = [epoch.within for epoch in epochs_of(finer.record.blocks)[:2]]
    assert [look.step for look in within[0]] == [5, 10, 15]
    assert [look.step for look in within[1]] == [22, 27, 32]
    of_plain, of_finer = plain.derived.metrics[0], finer.derived.metrics[0]
    assert all(value % STEPS_OF_EPOCH == 0 for value in of_plain.values)
    for whole, fine in zip(of_plain.values, of_finer.values, strict=True):
        assert fine <= whole and fine % STEPS_OF_EPOCH in (0, 5, 10, 15)
    assert of_finer.values != of_plain.values


def test_a_comparison_names_its_quantum(recipe: Path) -> None:
    plain = run(load_recipe(recipe), recipe.parent / "plain", "full", seeds=3)
    finer = finer_run(recipe, "finer")
    pairs = {
        "its quantum is one epoch)": (plain.bundle, plain.bundle),
        "its quantum is one epoch in A and 5 steps in B)": (plain.bundle, finer.bundle),
        "its quantum is 5 steps)": (finer.bundle, finer.bundle),
    }
    for text, (a, b) in pairs.items():
        metrics = compare(a, b).to_json()["comparisons"]
        assert text in metrics[0]["note"]


class StopAtStep(Event):
    """The run is interrupted between two evaluations of an epoch."""

    def __init__(self, step: int) -> None:
        self.step = step

    def after_step(self, trainer: Trainer, outputs: dict[str, Any]) -> None:
        if trainer.steps == self.step:
            raise KeyboardInterrupt


def test_an_interrupted_recipe_ends_in_the_same_bits(recipe: Path) -> None:
    whole = finer_run(recipe, "whole")
    with pytest.raises(KeyboardInterrupt):
        finer_run(recipe, "run", events=[StopAtStep(STEPS_OF_EPOCH + 7)])
    resumed = finer_run(recipe, "run", resume=True)
    assert bundle.read(resumed.bundle).files == bundle.read(whole.bundle).files
    steps = [outcome.derived.metrics[0].values for outcome in (whole, resumed)]
    assert steps[0] == steps[1] and verify(resumed.bundle).ok


def test_the_command_line(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(recipe.parent / "run")
    words = ["run", str(recipe), "--tier", "tiny", "--out", out]
    assert cli.main([*words, "--evaluate-every", "5"]) == 0
    plan: Any = bundle.read(Path(out)).documents["plan.json"]
    assert plan["evaluate_every"] == 5
    capsys.readouterr()
    assert cli.main([*words, "--evaluate-every", "0"]) == 2
    assert "evaluate_every must be at least 1 step" in capsys.readouterr().err
    assert cli.main([*words, "--evaluate-every", "5", "--ranks", "2"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "ranks are evaluated after whole epochs only" in line
