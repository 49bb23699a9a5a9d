"""`d5 run`: a recipe from the shell, interrupted, resumed, and given wrong."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from deep500 import bundle
from deep500.bundle.records.ledger import Ledger
from deep500.bundle.records.verification import verify

RECIPES = Path(__file__).parents[2] / "recipes"
MLP, CNN = RECIPES / "digits_mlp.py", RECIPES / "digits_cnn.py"
TINY = ("--tier", "tiny", "--framework", "reference")


def test_a_recipe_runs_and_says_what_came_out(d5, tmp_path):
    answer = d5("run", MLP, *TINY, "--seeds", 3, "--out", tmp_path / "run", "--json")
    assert answer.code in (0, 1), answer.err
    assert answer.code == (0 if answer.json["acceptable"] else 1)
    [accuracy, *_] = answer.json["metrics"]
    assert accuracy["name"] == "TestAccuracy" and len(accuracy["values"]) == 3
    assert accuracy["low"] <= accuracy["median"] <= accuracy["high"]
    assert "<svg" in Path(answer.json["report"]).read_text()
    assert verify(answer.json["bundle"]).ok
    assert sorted(bundle.read(tmp_path / "run").files) == [
        f"weights-{s}.safetensors" for s in range(3)
    ]
    assert not (tmp_path / "run.checkpoints").exists()
    assert "accuracy" in d5("show", tmp_path / "run").out.lower()


def test_settings_change_what_is_mutable_and_the_bundle_shows_it(d5, tmp_path):
    d5(
        "run",
        MLP,
        *TINY,
        "--seeds",
        1,
        "--set",
        "batch_size=32",
        "--out",
        tmp_path / "run",
    )
    plan: Any = bundle.read(tmp_path / "run").documents["plan.json"]
    assert plan["recipe"]["mutable"]["batch_size"] == 32
    assert "reference" in plan["recipe"]["mutable"]["executor"]["name"].lower()


WRONG = {
    "no such framework": (MLP, "--framework", "pytroch"),
    "no such recipe": ("nowhere.py",),
    "fixed entry": (MLP, "--set", "epochs=1"),
    "unknown entry": (MLP, "--set", "colour=1"),
    "wrong value": (MLP, "--set", "batch_size=many"),
    "zero": (MLP, "--set", "batch_size=0"),
    "no tier": (MLP, "--tier", "huge"),
    "no seeds": (MLP, "--seeds", "0"),
    "no form": (MLP, "--set", "batch_size"),
    "does not parse": ("broken.py",),
    "lacks METRICS": ("partial.py",),
    "raises": ("raising.py",),
    "exits": ("exiting.py",),
    "no such data": ("data.py",),
    "no such model": ("model.py",),
    "no such optimizer": (MLP, "--set", "optimizer=Adams"),
    "METRICS is no list": ("metrics.py",),
    "model cannot be built": ("hidden.py",),
    "target is text": ("target.py",),
    "resume of nothing": (MLP, "--resume"),
    "bad optimizer": (MLP, "--set", "optimizer_args=(1, 2, 3, 4, 5, 6)"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_bad_input_is_one_line_and_nothing_is_left(d5, tmp_path, wrong):
    text = MLP.read_text()
    files = {
        "broken.py": "FIXED = {",
        "partial.py": "FIXED = {}\nMUTABLE = {}\n",
        "exiting.py": "import sys; sys.exit(3)",
        "raising.py": "raise ValueError('no\\nway')",
        "metrics.py": text.split("METRICS")[0] + "METRICS = 5\n",
        "hidden.py": text.replace(
            '"dataset"', '"model_kwargs": {"hidden": (0,)}, "dataset"', 1
        ),
        "target.py": text.replace("(), 93.0)", '(), "93")'),
        "data.py": text.replace('"dataset": "digits"', '"dataset": "digit"'),
        "model.py": text.replace('"model": "mlp"', '"model": "mpl"'),
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    before = {p.name for p in tmp_path.iterdir()}
    out = () if "--resume" in WRONG[wrong] else ("--out", "run")
    answer = d5("run", *WRONG[wrong], *out)
    assert answer.code == 2, answer.err
    assert (
        answer.out == ""
        and answer.err.startswith("d5: ")
        and answer.err.count("\n") == 1
    ), answer.err
    assert {p.name for p in tmp_path.iterdir()} - before <= {"home", "__pycache__"}


def start(tmp_path, folder, *args):
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "deep500.cli",
            "run",
            str(MLP),
            *TINY,
            "--out",
            str(folder),
            *args,
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"DEEP500_HOME": str(tmp_path / "home")},
    )


def weights(folder):
    found = bundle.read(folder)
    return {name: found.files[name] for name in sorted(found.files)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The weights of a run that nobody interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    process = start(folder, folder / "run")
    _, err = process.communicate(timeout=120)
    assert process.returncode in (0, 1), err
    return weights(folder / "run")


@pytest.mark.parametrize(
    "moment",
    [*range(2), *(pytest.param(k, marks=pytest.mark.slow) for k in range(2, 10))],
)
def test_killed_and_resumed_it_ends_in_the_same_bits(d5, tmp_path, whole, moment):
    process = start(tmp_path, tmp_path / "run")
    rng, deadline = random.Random(moment), time.monotonic() + 300
    blocks = rng.randrange(1, 6)  # of 6: two epochs and an end for each of two seeds
    while process.poll() is None and time.monotonic() < deadline:
        chain = tmp_path / "run" / "samples.jsonl"
        if chain.exists() and chain.read_bytes().count(b"\n") > blocks:
            break
        time.sleep(0.001)
    process.kill()
    process.communicate(timeout=120)
    found = verify(tmp_path / "run")
    assert found.ok
    if not found.finished:
        assert (
            Ledger(tmp_path / "home" / "ledger.sqlite").runs()[0].state == "unfinished"
        )
        answer = d5("run", MLP, *TINY, "--out", tmp_path / "run", "--resume")
        assert answer.code in (0, 1), answer.err
    assert verify(tmp_path / "run").finished
    assert weights(tmp_path / "run") == whole


def test_control_c_keeps_what_was_trained(tmp_path):
    process = start(tmp_path, tmp_path / "run", "--seeds", "500")
    deadline = time.monotonic() + 300
    chain = tmp_path / "run" / "samples.jsonl"
    while time.monotonic() < deadline and not (
        chain.exists() and chain.read_bytes().count(b"\n") > 2
    ):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    *progress, last = err.splitlines()
    assert process.returncode == 130 and last.startswith("d5: interrupted"), err
    # a slow machine tells how far it is
    assert all("%" in line for line in progress), err
    assert verify(tmp_path / "run").ok


def test_a_second_run_does_not_go_into_the_folder_of_the_first(d5, tmp_path):
    d5("run", MLP, *TINY, "--seeds", 1, "--out", tmp_path / "run")
    again = d5("run", MLP, *TINY, "--seeds", 1, "--out", tmp_path / "run")
    assert again.code == 2 and "not empty" in again.err
