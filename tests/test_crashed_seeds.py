"""A seed that crashes, or whose process is killed, reaches nothing, and the reason is recorded; the others go on."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deep500 import bundle, cli
from deep500.bundle.records.loading import load
from deep500.bundle.records.verification import verify
from deep500.errors import Deep500Error, Deep500Warning
from deep500.rerun.recipe_files import load_recipe
from deep500.rerun.recipe_runner import run
from deep500.rerun.reproduction import reproduce
from deep500.training.attempts import MOST_ATTEMPTS
from tests.training.recipe_documents import checked_blocks

RECIPE = '''
import os
import signal

import deep500 as d5

SEED, EPOCH, HOW = {seed}, {epoch}, "{how}"


class Trouble(d5.events.Event):
    """Ends a seed in an epoch, after two of its steps."""

    def __init__(self):
        self.steps = 0

    def before_epoch(self, trainer, epoch):
        self.steps = 0

    def after_step(self, trainer, outputs):
        self.steps += 1
        here = trainer.sampler.seed in SEED and trainer.epoch + 1 == EPOCH
        if here and self.steps == 2:
            if HOW == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if HOW == "memory":
                raise MemoryError("no room for 5 GiB")
            raise ValueError("the reactor is too hot")


FIXED = {{"model": "mlp", "dataset": "digits", "epochs": 3}}
MUTABLE = {{
    "batch_size": 256, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1), "events": [Trouble()],
}}
METRICS = [(d5.TestAccuracy(), 1.0), (d5.TimeToAccuracy(1.0), None), (d5.Throughput(), None)]
'''


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(home: Path, seed: list[int], epoch: int, how: str = "raise") -> Path:
    path = home / "hot.py"
    path.write_text(RECIPE.format(seed=seed, epoch=epoch, how=how))
    return path


def crashed_in(folder: Path) -> dict[int, str]:
    blocks: Any = bundle.read(folder).blocks
    return {block["seed"]: block["crashed"] for block in blocks if "crashed" in block}


@pytest.mark.parametrize("epoch", [1, 3])
def test_the_other_seeds_are_trained_and_the_reason_comes_first(
    home: Path, capsys: Any, epoch: int
) -> None:
    recipe = load_recipe(written(home, [1], epoch))
    with pytest.warns(Deep500Warning, match="seed 1 crashed.* too hot"):
        outcome = run(recipe, home / "run", seeds=3)
    reason = crashed_in(home / "run")[1]
    assert reason.startswith("recipe hot: ") or "ValueError" in reason
    assert "the reactor is too hot" in reason and "Trouble.after_step (hot.py" in reason
    for metric in outcome.derived.metrics:
        assert metric.values[1] is None, metric.name
        assert None not in (metric.values[0], metric.values[2])
        assert "1 of 3 seeds" in metric.notes[0] and "1 crashed" in metric.notes[0]
    [failed] = outcome.derived.failed
    assert failed.seed == 1
    assert failed.reason.startswith(f"crashed in epoch {epoch}: ")
    checked = verify(home / "run")
    assert checked.ok, checked.problems
    assert cli.main(["show", str(home / "run")]) == 0
    first = " ".join(capsys.readouterr().out.split())[:600]
    assert "of 3 seeds, 1 crashed (seed 1 crashed in epoch" in first, first
    assert "too hot" in first
    assert cli.main(["report", str(home / "run"), "--format", "html"]) == 0
    assert (
        cli.main(["verify", str(home / "run"), "--replay", "--recipe", "hot.py"]) == 0
    )


def test_an_error_before_anything_is_trained_is_one_of_the_recipe(home: Path) -> None:
    recipe = load_recipe(written(home, [0, 1, 2], 1))
    with pytest.raises(Deep500Error, match="too hot"):
        run(recipe, home / "run", seeds=3)
    assert not (home / "run").exists()


def test_memory_that_is_not_there_is_a_crash(home: Path) -> None:
    recipe = load_recipe(written(home, [0], 2, "memory"))
    with pytest.warns(Deep500Warning, match="no room for 5 GiB"):
        outcome = run(recipe, home / "run", seeds=2)
    assert list(crashed_in(home / "run")) == [0]
    assert outcome.derived.metrics[0].values[0] is None


@pytest.mark.filterwarnings("always::deep500.errors.Deep500Warning")
def test_a_run_of_which_all_seeds_crash_is_not_acceptable(
    home: Path, capsys: Any
) -> None:
    written(home, [0, 1], 2)
    assert cli.main(["run", "hot.py", "--seeds", "2", "--out", "run"]) == 1
    said = capsys.readouterr()
    for seed in (0, 1):
        assert f"d5: warning: seed {seed} crashed, and counts as one" in said.err
    assert "of 2 seeds, 2 crashed" in " ".join(said.out.split())
    assert verify(home / "run").ok


def test_a_crash_is_compared_as_a_lost_seed_and_comes_out_again(
    home: Path, capsys: Any
) -> None:
    path = written(home, [], 1)
    run(load_recipe(path), home / "good", seeds=3)
    path = written(home, [2], 2)
    with pytest.warns(Deep500Warning):
        run(load_recipe(path), home / "bad", seeds=3)
    assert cli.main(["compare", "good", "bad", "--gate"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "B lost 1 seed that A has" in text and "B lost seed 2 (crashed in" in text
    with pytest.warns(Deep500Warning):
        record = reproduce(home / "bad", path, home / "again")
    assert record.derived is not None
    assert record.derived.reproduced.verdict == "yes"
    assert verify(home / "again").ok


def in_a_process(*words: str) -> int:
    command = [sys.executable, "-m", "deep500.cli", *words]
    return subprocess.run(command, env=os.environ, capture_output=True).returncode


def test_a_seed_whose_process_is_always_killed_is_given_up(home: Path) -> None:
    """Resuming goes on where the process died; after so many deaths at one epoch, with the next seed."""
    written(home, [1], 2, "kill")
    words = ["run", "hot.py", "--seeds", "3", "--out", "run", "--resume"]
    for _ in range(MOST_ATTEMPTS):
        assert in_a_process(*words) == -signal.SIGKILL
        assert crashed_in(home / "run") == {}
        record = load(home / "run")
        assert not record.finished
    assert in_a_process(*words) == 0
    [reason] = crashed_in(home / "run").values()
    assert reason == f"its process was killed ({MOST_ATTEMPTS} attempts)"
    assert verify(home / "run").ok
    derived: Any = bundle.read(home / "run").documents["derived.json"]
    assert [value is None for value in derived["metrics"][0]["values"]] == [0, 1, 0]
    # the seeds that were not killed have the bits of a run without any trouble
    written(home, [], 2, "kill")
    run(load_recipe(home / "hot.py"), home / "good", seeds=3)
    good, bad = bundle.read(home / "good"), bundle.read(home / "run")
    for seed in (0, 2):
        name = f"weights-{seed}.safetensors"
        assert good.files[name] == bad.files[name]


@pytest.mark.parametrize(
    "change",
    [
        {"crashed": ""},
        {"crashed": 5},
        {"test": {"accuracy": 1.0}},
        {"build_seconds": None},
    ],
)
def test_a_crash_from_anyone_is_checked(home: Path, change: dict[str, Any]) -> None:
    block = {"seed": 0, "crashed": "ValueError", "build_seconds": 0.1}
    checked_blocks([block])
    with pytest.raises(Deep500Error, match="block 0: /"):
        checked_blocks([json.loads(json.dumps(block | change))])
