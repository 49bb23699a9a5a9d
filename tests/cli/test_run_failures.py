"""`d5 run` when things go wrong: a full disk, a loss that is not a number, checkpoints of another recipe."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deep500 import bundle
from deep500.bundle.records.verification import verify
from deep500.errors import Deep500Error
from deep500.optimizers import SGD
from deep500.rerun.recipe_files import load_recipe
from deep500.rerun.recipe_runner import run as run_recipe
from deep500.training.events import Event
from deep500.training.trainer import Trainer

RECIPE = """
import numpy as np

import deep500 as d5

FIXED = {"model": "mlp", "model_kwargs": {"hidden": (64,)}, "dataset": "digits", "epochs": 3}
MUTABLE = {"batch_size": 128, "executor": "reference", "optimizer": d5.optimizers.SGD(RATE)}
METRICS = [(d5.TestAccuracy(), 5.0)]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "recipe.py").write_text(RECIPE.replace("RATE", "0.1"))
    return tmp_path


LIMITED = """
import resource, runpy, sys

limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
runpy.run_module("deep500.cli", run_name="__main__")
"""
NO_LIMIT = 1 << 40


def run(folder: Path, *words: str, largest_file: int = NO_LIMIT) -> tuple[int, str]:
    """The exit code and what was said; no file may grow beyond `largest_file` bytes."""
    command = [sys.executable, "-c", LIMITED, str(largest_file), "run", "recipe.py"]
    done = subprocess.run(
        [*command, "--seeds", "1", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"DEEP500_HOME": str(folder / "home")},
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("d5: ")]
    assert "Traceback" not in done.stderr
    return done.returncode, "\n".join(lines)


def weights(folder: Path) -> dict[str, str]:
    return dict(bundle.read(folder).files)


def test_a_full_disk_is_one_line_and_the_run_can_go_on(folder: Path) -> None:
    """A checkpoint is larger than a block, so that it is what does not fit."""
    code, said = run(folder, "--out", "run", "--resume", largest_file=12_000)
    assert code == 2 and said.count("\n") == 0 and "File too large" in said, said
    code, said = run(folder, "--out", "run", "--resume")
    assert code == 0, said
    assert verify(folder / "run").finished
    assert run(folder, "--out", "whole")[0] == 0
    assert weights(folder / "run") == weights(folder / "whole")


def test_a_loss_that_is_not_a_number_misses_its_target(folder: Path) -> None:
    (folder / "recipe.py").write_text(
        RECIPE.replace("RATE", "1e30").replace("5.0)", "50.0)")
    )
    code, said = run(folder, "--out", "run")
    assert code == 1, said
    assert verify(folder / "run").ok


class StopAfterOneEpoch(Event):
    def before_epoch(self, trainer: Trainer, epoch: int) -> None:
        if epoch == 1:
            raise KeyboardInterrupt


def test_a_checkpoint_of_another_recipe_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(folder / "home"))
    recipe = load_recipe(folder / "recipe.py")
    other = recipe.with_settings({"optimizer": SGD(0.2)})
    for name, begun in (("run", recipe), ("other", other)):
        with pytest.raises(KeyboardInterrupt):
            run_recipe(begun, folder / name, seeds=1, events=[StopAfterOneEpoch()])
        assert verify(folder / name).ok
    [foreign] = (folder / "other.checkpoints").glob("*.safetensors")
    shutil.copy(foreign, folder / "run.checkpoints" / foreign.name)
    with pytest.raises(
        Deep500Error, match="not the one that the bundle names: start anew"
    ):
        run_recipe(recipe, folder / "run", seeds=1, resume=True)
    with pytest.raises(Deep500Error, match="was begun with another recipe or settings"):
        run_recipe(other, folder / "run", seeds=1, resume=True)
