"""The exit code is the verdict's, whether or not anybody reads what is printed."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from deep500 import bundle, measure


@pytest.fixture(scope="module")
def false_claim(tmp_path_factory) -> Path:
    """A bundle whose derived.json says half of what the samples say, under hashes that hold."""
    folder = tmp_path_factory.mktemp("pipes")
    # A fixed number of processes has an interval however little time each of them gets.
    statement = {"sum": "sum(range(1000))"}
    measure.run(statement, budget_s=0.3, processes=6, folder=folder / "true")
    honest = bundle.read(folder / "true")
    derived = json.loads(json.dumps(honest.documents["derived.json"]))
    for key in ("median", "low", "high"):
        derived["entries"][0][key] /= 2
    documents = {
        name: honest.documents[name] for name in ("plan.json", "environment.json")
    }
    writer = bundle.create(folder / "false", documents)
    for block in honest.blocks:
        writer.append(block)
    writer.finish({"derived.json": derived})
    return folder / "false"


def started(home: Path, *args: object, **streams) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "deep500.cli", *map(str, args)]
    environment = os.environ | {"DEEP500_HOME": str(home)}
    return subprocess.Popen(command, env=environment, text=True, **streams)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("verify", "BUNDLE"), 1),
        (("show", "BUNDLE", "--json"), 1),
        (("compare", "BUNDLE", "BUNDLE"), 1),
        (("list",), 0),
    ],
)
def test_a_closed_pipe_changes_nothing(false_claim, tmp_path, args, code):
    words = [false_claim if word == "BUNDLE" else word for word in args]
    with started(
        tmp_path, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == code


def test_a_complaint_that_nobody_reads_keeps_its_code(tmp_path):
    with started(tmp_path, "show", "nowhere", stderr=subprocess.PIPE) as process:
        process.stderr.close()
    assert process.returncode == 2


def test_output_that_was_never_open(false_claim, tmp_path):
    words = shlex.join(
        [sys.executable, "-m", "deep500.cli", "verify", str(false_claim)]
    )
    command = f"exec {words} >&- 2>&-"
    environment = os.environ | {"DEEP500_HOME": str(tmp_path)}
    assert subprocess.run(["sh", "-c", command], env=environment).returncode == 1


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no /dev/full"
)
def test_a_full_disk_is_one_line(false_claim, tmp_path):
    with (
        open("/dev/full", "w") as full,
        started(
            tmp_path, "show", false_claim, stdout=full, stderr=subprocess.PIPE
        ) as process,
    ):
        said = process.stderr.read()
    assert process.returncode == 2
    assert said.startswith("d5: ") and said.count("\n") == 1
