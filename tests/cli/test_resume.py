"""`d5 run --out FOLDER --resume`: one command for a job script, whatever was interrupted before."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deep500 import Deep500Error, bundle
from deep500.bundle.records.verification import verify

from .conftest import without_load_warnings

RECIPE = '''
"""Logistic regression that can be made to wait at a moment of its run."""

import os
import time

import deep500 as d5


def moment(name):
    if os.environ.get("WAIT_AT") == name:
        os.close(os.open("reached", os.O_CREAT | os.O_WRONLY))
        for _ in range(600):  # a signal that comes just before a sleep does not end it
            time.sleep(0.1)


class Data(d5.datasets.Digits):
    def load(self):
        moment("data")
        return super().load()


class Order(d5.ShuffleSampler):
    def epoch(self, size, epoch):
        moment("first epoch")
        return super().epoch(size, epoch)


moment("recipe")
FIXED = {"model": "mlp", "dataset": Data, "train_sampler": Order, "epochs": 2}
MUTABLE = {"batch_size": 256, "executor": "reference", "optimizer": "SGD", "optimizer_args": (0.1,)}
METRICS = [(d5.TestAccuracy(), None)]
'''
RUN = ("run", "recipe.py", "--seeds", "1", "--out", "run", "--resume")
MOMENTS = ("recipe", "data", "first epoch")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "recipe.py").write_text(RECIPE)
    return tmp_path


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with the recipe and its finished run, to be copied."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "recipe.py").write_text(RECIPE)
    process = start(folder, WAIT_AT="")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return folder


def start(folder, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "deep500.cli", *RUN],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"DEEP500_HOME": str(folder / "home")} | environment,
    )


def stopped(folder, moment, number):
    """Run the recipe up to a moment and send a signal; returns the exit code and what was said."""
    process = start(folder, WAIT_AT=moment)
    deadline = time.monotonic() + 300
    while not (folder / "reached").exists():
        assert process.poll() is None and time.monotonic() < deadline, (
            process.communicate()
        )
        time.sleep(0.01)
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    return process.returncode, without_load_warnings(err)


@pytest.mark.parametrize("moment", MOMENTS)
def test_control_c_before_the_first_epoch_leaves_nothing(folder, moment):
    code, err = stopped(folder, moment, signal.SIGINT)
    assert code in (130, -signal.SIGINT)
    if moment == "recipe":  # nothing has been begun
        next_command = "nothing had been begun"
    else:
        next_command = f"go on with `d5 {shlex.join(RUN)}`"
    assert err == f"d5: interrupted; {next_command}\n"
    assert not list(folder.glob("run*"))


def test_the_same_command_begins_is_killed_and_goes_on(d5, folder):
    stopped(folder, "first epoch", signal.SIGKILL)
    assert bundle.read(folder / "run").blocks == []
    code, _ = stopped(folder, "first epoch", signal.SIGINT)
    assert code in (130, -signal.SIGINT)
    answer = d5(*RUN)
    assert answer.code == 0, answer.err
    assert verify(folder / "run").finished and not (folder / "run.checkpoints").exists()


def test_a_control_c_that_a_library_hides_is_still_one(folder):
    """NumPy raises an ImportError when its import is interrupted."""
    waiting = 'moment("recipe")\n'
    hiding = 'try:\n    moment("recipe")\nexcept KeyboardInterrupt:\n    raise ImportError("no") from None\n'
    (folder / "recipe.py").write_text(RECIPE.replace(waiting, hiding))
    code, err = stopped(folder, "recipe", signal.SIGINT)
    assert code in (130, -signal.SIGINT)
    assert err == "d5: interrupted; nothing had been begun\n"


@pytest.mark.slow
def test_an_empty_folder_is_filled(d5, folder):
    (folder / "run").mkdir()
    assert d5(*RUN).code == 0
    assert verify(folder / "run").finished


def test_a_finished_run_is_shown_and_says_so(d5, finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    answer = d5(*RUN)
    assert answer.code == 0
    assert answer.err == "d5: run was finished before: nothing was trained\n"
    assert "TestAccuracy" in answer.out or "test accuracy" in answer.out.lower()
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before


@pytest.mark.slow
def test_a_finished_run_that_was_not_acceptable_stays_so(d5, tmp_path):
    """A job that asks again gets the same answer: a gate does not open by itself."""
    (tmp_path / "recipe.py").write_text(RECIPE.replace("(), None)", "(), 101.0)"))
    assert [d5(*RUN).code for _ in range(2)] == [1, 1]


@pytest.mark.parametrize(
    "change, named",
    [
        (("--seeds", "2"), "seeds"),
        pytest.param(("--set", "batch_size=128"), "recipe", marks=pytest.mark.slow),
        pytest.param(("--tier", "full"), "tier", marks=pytest.mark.slow),
    ],
)
def test_a_run_of_another_recipe_is_refused(d5, finished, tmp_path, change, named):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    refused = d5(*RUN, *change)
    assert refused.code == 2 and refused.err.count("\n") == 1 and not refused.out
    assert (
        f"({named})" in refused.err
        and "give the same again, or another folder" in refused.err
    )


def test_a_folder_of_something_else_is_refused(d5, folder):
    (folder / "run").mkdir()
    (folder / "run" / "notes.txt").write_text("mine")
    refused = d5(*RUN)
    assert (
        refused.code == 2
        and refused.err.count("\n") == 1
        and "not empty" in refused.err
    )
    assert [path.name for path in (folder / "run").iterdir()] == ["notes.txt"]


def test_a_finished_run_that_was_changed_is_not_shown(d5, finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    (tmp_path / "run" / "weights-0.safetensors").write_bytes(b"others")
    refused = d5(*RUN)
    assert (
        refused.code == 2
        and refused.err.count("\n") == 1
        and "d5 verify" in refused.err
    )


DOCUMENTS: dict[str, object] = {"plan.json": {"a": 1}, "environment.json": {"b": 2}}


KILLED_CREATION = """
import json, os, sys
from pathlib import Path
from deep500 import bundle
left = [None] * int(sys.argv[2])
os.fsync = lambda fd: left.pop() if left else os._exit(9)
bundle.create(Path(sys.argv[1]), json.loads(sys.argv[3]))
"""


@pytest.mark.parametrize("synced", range(3))
def test_a_killed_creation_can_be_begun_again(tmp_path: Path, synced: int) -> None:
    """Kill it at each of its three fsyncs: two documents, and the header behind them."""
    words = [str(tmp_path / "run"), str(synced), json.dumps(DOCUMENTS)]
    killed = subprocess.run([sys.executable, "-c", KILLED_CREATION, *words])
    assert killed.returncode == 9
    assert bundle.begun(tmp_path / "run", DOCUMENTS) == (synced == 2)
    if synced < 2:
        bundle.create(tmp_path / "run", DOCUMENTS).close()
    bundle.resume(tmp_path / "run").close()


def test_a_creation_that_is_going_on_is_left_alone(tmp_path: Path) -> None:
    writer = bundle.create(tmp_path / "run", DOCUMENTS)
    with pytest.raises(Deep500Error, match="being written by another process"):
        bundle.begun(tmp_path / "run", DOCUMENTS)
    writer.close()
    assert bundle.begun(tmp_path / "run", DOCUMENTS)
