"""A run that is resumed says so in its bundle: where, and what was different there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import deep500 as d5
from deep500 import bundle, cli
from deep500.bundle.records.loading import load
from deep500.bundle.records.verification import verify
from deep500.contracts.recipe import Recipe
from deep500.errors import Deep500Error
from deep500.reports.html import html
from deep500.rerun.recipe_runner import run
from deep500.rerun.replay import evaluated_in
from deep500.results.outcomes.contents import resumption_sentence
from deep500.training.events import Event
from deep500.training.recipe_blocks import resumptions
from tests.training.recipe_documents import checked_blocks

RECIPE = Path(__file__).parents[2] / "recipes" / "digits_mlp.py"
FIXED = {
    "model": d5.networks.Mlp((8,)),
    "dataset": d5.datasets.SyntheticImages(size=200),
}
MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
SMALL = Recipe("small", FIXED | {"epochs": 3}, MUTABLE, [(d5.TestAccuracy(), None)])


class StopAfter(Event):
    """Interrupts after some epochs of all seeds together; the last of them is not recorded."""

    def __init__(self, epochs: int) -> None:
        self.left = epochs

    def after_epoch(self, trainer: d5.Trainer, record: dict[str, Any]) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return tmp_path


def interrupted(folder: Path, epochs: int, resume: bool = False) -> Path:
    with pytest.raises(KeyboardInterrupt):
        run(SMALL, folder, seeds=2, resume=resume, events=[StopAfter(epochs)])
    return folder


def resumed_blocks(folder: Path) -> list[Any]:
    return [
        block["resumed"] for block in bundle.read(folder).blocks if "resumed" in block
    ]


def plant_package(folder: Path, name: str, version: str) -> Path:
    """Metadata of an installed package, as the environment reads them."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    )
    return folder


def test_another_number_of_threads_and_another_version_are_in_the_bundle_and_shown(
    home: Path, monkeypatch: Any, capsys: Any
) -> None:
    folder = interrupted(home / "run", 5)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.syspath_prepend(plant_package(home / "packages", "torch", "99.1"))
    run(SMALL, folder, seeds=2, resume=True)
    [note] = resumed_blocks(folder)
    changes = {
        change["fact"]: (change["was"], change["now"]) for change in note["changes"]
    }
    assert changes["OMP_NUM_THREADS"] == ("1", "2")
    assert changes["package torch"][1] == "99.1"
    [resumption] = resumptions(checked_blocks(bundle.read(folder).blocks))
    assert (resumption.seed, resumption.epochs) == (1, 1)
    capsys.readouterr()
    assert cli.main(["show", str(folder)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for text in (shown, html(load(folder).report())):
        assert "Seed 1 was resumed after epoch 1 under other conditions" in text
        assert "OMP_NUM_THREADS 1 → 2" in text and "→ 99.1" in text
    assert verify(folder).ok


def test_a_resumption_on_the_same_machine_says_that(home: Path) -> None:
    folder = interrupted(home / "run", 3)
    run(SMALL, folder, seeds=2, resume=True)
    [resumption] = resumptions(load(folder).blocks)
    assert resumption_sentence(resumption) == (
        "Seed 0 was resumed after epoch 2, on the same machine with the same software."
    )


def test_a_run_that_was_not_interrupted_says_nothing(home: Path) -> None:
    outcome = run(SMALL, home / "run", seeds=1)
    assert resumed_blocks(outcome.bundle) == []
    assert "resumed" not in html(outcome.record.report())


def test_every_resumption_is_noted_and_the_last_before_a_seeds_end_counts(
    home: Path, monkeypatch: Any
) -> None:
    folder = interrupted(home / "run", 2)
    for threads, epochs in (("2", 3), ("3", 9)):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        if epochs < 9:
            interrupted(folder, epochs, resume=True)
    run(SMALL, folder, seeds=2, resume=True)
    record = load(folder)
    assert [r.changes[0].now for r in resumptions(record.blocks)] == ["2", "3"]
    name = ("benchmark measurement setup", "OMP_NUM_THREADS")
    assert [evaluated_in(record, seed).fact(*name).value for seed in (0, 1)] == [
        "2",
        "3",
    ]


def test_replay_knows_where_a_seed_was_evaluated(
    home: Path, monkeypatch: Any, capsys: Any
) -> None:
    folder = interrupted(home / "run", 2)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    run(SMALL, folder, seeds=2, resume=True)
    assert cli.main(["verify", str(folder), "--replay"]) == 0
    assert "here differs" not in capsys.readouterr().out
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert cli.main(["verify", str(folder), "--replay"]) == 0
    assert "here differs: OMP_NUM_THREADS 2 → 3" in capsys.readouterr().out


STRANGE_NOTES: list[object] = [
    3,
    {},
    {"at": 1, "changes": []},
    {"at": "", "changes": {}},
    {"at": "", "changes": [{"class": "c", "fact": "f", "was": 1}]},
    {"at": "", "changes": [{"class": "c", "fact": 5, "was": 1, "now": 2}]},
    {"at": "", "changes": [{"class": "c", "fact": "f", "was": {}, "now": 2}]},
]


def test_a_strange_note_is_refused(home: Path) -> None:
    blocks = json.loads(
        json.dumps(bundle.read(run(SMALL, home / "run", seeds=1).bundle).blocks)
    )
    for note in STRANGE_NOTES:
        blocks[1]["resumed"] = note
        with pytest.raises(Deep500Error, match="block 1: /resumed"):
            checked_blocks(blocks)


def test_other_data_are_not_resumed(home: Path) -> None:
    folder = interrupted(home / "run", 2)
    other = FIXED | {"dataset": d5.datasets.SyntheticImages(size=201), "epochs": 3}
    recipe = Recipe("small", other, MUTABLE, [(d5.TestAccuracy(), None)])
    with pytest.raises(Deep500Error, match="begun with another recipe or settings"):
        run(recipe, folder, seeds=2, resume=True)


STOP = """
import sys
from deep500.rerun.recipe_files import load_recipe
from deep500.rerun.recipe_runner import run
from deep500.frameworks import framework
from deep500.training.events import Event

class Stop(Event):
    def after_epoch(self, trainer, record):
        if record["epoch"] == 2:
            raise KeyboardInterrupt

recipe = load_recipe(sys.argv[1]).with_settings({"executor": framework("reference").from_model})
run(recipe, sys.argv[2], "tiny", events=[Stop()])
"""


@pytest.mark.slow
def test_a_real_resumption_in_another_process_with_other_threads(home: Path) -> None:
    def python(threads: int, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            capture_output=True,
            text=True,
            timeout=300,
            env=os.environ | {"OMP_NUM_THREADS": str(threads)},
        )

    folder = str(home / "run")
    assert "KeyboardInterrupt" in python(1, "-c", STOP, str(RECIPE), folder).stderr
    how = ["--tier", "tiny", "--framework", "reference", "--out", folder, "--resume"]
    done = python(2, "-m", "deep500.cli", "run", str(RECIPE), *how)
    assert done.returncode in (0, 1), done.stderr
    shown = " ".join(done.stdout.split())
    assert (
        "Seed 0 was resumed after epoch 1" in shown and "OMP_NUM_THREADS 1 → 2" in shown
    )
    assert python(2, "-m", "deep500.cli", "verify", folder, "--replay").returncode == 0
