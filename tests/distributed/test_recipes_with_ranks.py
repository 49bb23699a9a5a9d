"""Recipes on many ranks, from the command line to the bundle; a rank that is killed, and --resume."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deep500 import bundle
from deep500.cli import main
from deep500.contracts.metric import History
from deep500.metrics.accuracy_per_megabyte import AccuracyPerMegabyte
from deep500.metrics.bytes_per_rank import BytesPerRank
from deep500.metrics.consensus_distance import ConsensusDistance
from deep500.metrics.exposed_communication import ExposedCommunication
from deep500.metrics.load_imbalance import LoadImbalance
from deep500.metrics.messages_per_rank import MessagesPerRank
from deep500.metrics.staleness import Staleness
from deep500.supervision.descendants import descendants
from deep500.training.metric_summary import metric_summary
from deep500.training.recipe_plan import MetricForm
from tests.training.recipe_documents import checked_plan, plan_document

ROOT = Path(__file__).parents[2]
RECIPE = """
import deep500 as d5

FIXED = {"model": "mlp", "model_kwargs": {"hidden": (8,)}, "dataset": "digits", "epochs": 4}
MUTABLE = {"batch_size": 60, "ranks": 2, "executor": "reference", "optimizer": d5.optimizers.Adam(0.01)}
METRICS = [(d5.TestAccuracy(), None), (d5.metrics.BytesPerRank(), None), (d5.metrics.ConsensusDistance(), None)]
"""


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    path = tmp_path / "small.py"
    path.write_text(RECIPE)
    return path


def words(recipe: Path, out: Path, transport: str, *more: str) -> list[str]:
    usual = [
        "--transport",
        transport,
        "--seeds",
        "1",
        "--deadline",
        "60",
        "--out",
        str(out),
    ]
    return ["run", str(recipe), *usual, *more]


def weights(folder: Path) -> str:
    """The digest of what was trained."""
    blocks: Any = bundle.read(folder).blocks
    return next(block["weights"] for block in blocks if "weights" in block)


@pytest.mark.parametrize("transport", ["mpi", "torch"])
def test_real_ranks_leave_the_bundle_of_virtual_ranks(
    recipe: Path, tmp_path: Path, transport: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(words(recipe, tmp_path / "virtual", "virtual")) == 0
    run = [
        sys.executable,
        "-m",
        "deep500.cli",
        *words(recipe, tmp_path / "real", transport),
    ]
    done = subprocess.run(run, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert weights(tmp_path / "real") == weights(tmp_path / "virtual")
    assert main(["verify", str(tmp_path / "real")]) == 0
    capfd.readouterr()
    assert main(["report", str(tmp_path / "real"), "--format", "terminal"]) == 0
    assert "Bytes: all of them are modelled" in " ".join(capfd.readouterr().out.split())
    found = bundle.read(tmp_path / "real")
    plan = json.loads(json.dumps(found.documents["plan.json"]))
    distribution = plan["distribution"]
    assert (distribution["global_batch"], distribution["local_batch"]) == (60, [30, 30])
    epoch: Any = found.blocks[0]
    assert len(epoch["series"]["seconds of rank 1"]) == len(epoch["series"]["loss"])
    assert (
        epoch["counters"]["bytes of rank 0"] == epoch["counters"]["bytes of rank 1"] > 0
    )


def kill_rank(
    parent: int, rank: int, after: Path, epoch: int = 2, delay: float = 0.0
) -> None:
    """Kill the process of a rank below `parent`, so many seconds after the checkpoint of an epoch is there."""
    deadline = time.monotonic() + 300
    while (
        not list(after.parent.glob(f"{after.name}/0-{epoch}*"))
        and time.monotonic() < deadline
    ):
        time.sleep(0.005)
    time.sleep(delay)
    for pid in descendants(parent):
        try:
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        names = {b"RANK=%d" % rank, b"PMI_RANK=%d" % rank}
        if (
            names & {*variables}
            and b"deep500.cli" in command
            and b"python" in command.split(b"\0")[0]
        ):
            os.kill(pid, signal.SIGKILL)
            return
    raise AssertionError("the rank was not found")


CRASH = """
import os

import deep500 as d5


class Hot(d5.optimizers.Adam):
    \"\"\"Raises in the third epoch of the rank that CRASH names.\"\"\"

    def update(self, xp, param, grad, state, step):
        rank = os.environ.get("PMI_RANK", os.environ.get("RANK", "0"))
        if rank == os.environ.get("CRASH") and step > int(os.environ["CRASH_STEP"]):
            raise ValueError("the reactor is too hot")
        return super().update(xp, param, grad, state, step)

"""


@pytest.mark.parametrize(
    ("transport", "rank"),
    [
        ("virtual", 0),
        ("torch", 1),
        pytest.param("torch", 0, marks=pytest.mark.slow),
        pytest.param("mpi", 0, marks=pytest.mark.slow),
        pytest.param("mpi", 1, marks=pytest.mark.slow),
    ],
)
def test_a_crash_on_a_rank_ends_all_and_says_how_to_go_on(
    recipe: Path, tmp_path: Path, transport: str, rank: int
) -> None:
    recipe.write_text(CRASH + RECIPE.replace("d5.optimizers.Adam(0.01)", "Hot(0.01)"))
    out = tmp_path / "crashed"
    command = [sys.executable, "-m", "deep500.cli"]
    command += words(recipe, out, transport, "--resume")
    crashed = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "CRASH": str(rank), "CRASH_STEP": "40"},
    )
    assert crashed.returncode == 2, crashed.stderr
    assert "seed 0 crashed, and all ranks end with it" in crashed.stderr
    assert "the reactor is too hot" in crashed.stderr
    assert "--resume goes on after the last epoch" in crashed.stderr
    assert "Traceback" not in crashed.stderr
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert main(words(recipe, tmp_path / "whole", "virtual")) == 0
    assert weights(out) == weights(tmp_path / "whole")


def test_a_crash_before_the_first_epoch_is_one_of_the_recipe(
    recipe: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    recipe.write_text(CRASH + RECIPE.replace("d5.optimizers.Adam(0.01)", "Hot(0.01)"))
    monkeypatch.setenv("CRASH", "0")
    monkeypatch.setenv("CRASH_STEP", "5")
    assert main(words(recipe, tmp_path / "crashed", "virtual")) == 2
    said = capsys.readouterr().err
    assert "the reactor is too hot" in said and "--resume" not in said


@pytest.mark.parametrize(
    ("transport", "rank"),
    [
        ("torch", 1),
        pytest.param("mpi", 1, marks=pytest.mark.slow),
        pytest.param("torch", 0, marks=pytest.mark.slow),
        pytest.param("mpi", 0, marks=pytest.mark.slow),
    ],
)
def test_a_killed_rank_is_named_and_the_run_goes_on_to_the_same_bits(
    recipe: Path, tmp_path: Path, transport: str, rank: int
) -> None:
    check_kill(recipe, tmp_path, transport, rank)


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["mpi", "torch"])
@pytest.mark.parametrize("seed", range(10))
def test_ranks_killed_at_random_moments(
    recipe: Path, tmp_path: Path, transport: str, seed: int
) -> None:
    random = np.random.default_rng(seed)
    rank, epoch = int(random.integers(2)), int(random.integers(1, 3))
    check_kill(recipe, tmp_path, transport, rank, epoch, delay=random.uniform(0, 0.1))


def check_kill(
    recipe: Path,
    tmp_path: Path,
    transport: str,
    rank: int,
    epoch: int = 2,
    delay: float = 0.0,
) -> None:
    """A killed rank is named, and the run goes on to the bits of a run that nothing disturbed."""
    out = tmp_path / "killed"
    long = ["--set", "batch_size=12"]  # so that an epoch takes its time
    command = [
        sys.executable,
        "-m",
        "deep500.cli",
        *words(recipe, out, transport, "--resume", *long),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    kill_rank(process.pid, rank, out.with_name("killed.checkpoints"), epoch, delay)
    _, said = process.communicate(timeout=200)
    assert process.returncode == 2, said
    assert f"rank {rank} was ended by SIGKILL" in said or f"rank {rank} is lost" in said
    assert not (out / "manifest.json").exists()
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert main(["verify", str(out)]) == 0
    assert main(words(recipe, tmp_path / "whole", "virtual", *long)) == 0
    assert weights(out) == weights(tmp_path / "whole")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--ranks", "0"], "ranks is 0"),
        (["--ranks", "70"], "70 ranks share a batch of 60"),
        (
            ["--scheme", "AllReduc"],
            "no scheme is named 'AllReduc'. Did you mean 'AllReduce'",
        ),
        (
            ["--scheme", "AllReduce(codecs=1)"],
            "no setting of AllReduce is named 'codecs'",
        ),
        (
            ["--scheme", "LocalSGD()", "--codec", "TopK(0.1)"],
            "LocalSGD has no setting 'codec'",
        ),
        (["--deadline", "0"], "--deadline 0"),
        (["--set", "transport=pigeons"], "no transport is named 'pigeons'"),
    ],
)
def test_what_cannot_be_run_is_refused(
    recipe: Path,
    tmp_path: Path,
    more: list[str],
    message: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    arguments = [
        "run",
        str(recipe),
        "--seeds",
        "1",
        "--out",
        str(tmp_path / "x"),
        *more,
    ]
    assert main(arguments) == 2
    said = capfd.readouterr().err.strip().splitlines()[-1]
    assert message in said
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "option", [["--scheme", "LocalSGD(period=2)"], ["--codec", "Sign()"]], ids=str
)
def test_a_scheme_or_a_codec_without_ranks_is_refused(
    recipe: Path, option: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    recipe.write_text(RECIPE.replace('"ranks": 2, ', ""))
    assert main(["run", str(recipe), *option]) == 2
    [said] = capfd.readouterr().err.splitlines()
    assert said.endswith("the recipe has no 'ranks': give --ranks")


def test_times_of_virtual_ranks_are_unavailable(recipe: Path, tmp_path: Path) -> None:
    """Virtual ranks compute in no time: a rate per second would be a number of nothing."""
    metrics = "(d5.Throughput(), 1.0), (d5.metrics.ExposedCommunication(), None)]"
    text = RECIPE.replace("(d5.metrics.ConsensusDistance(), None)]", metrics)
    recipe.write_text(text)
    out = tmp_path / "virtual"
    assert main(words(recipe, out, "virtual")) == 1  # a target that cannot be met
    assert main(["verify", str(out)]) == 0
    summaries = json.loads((out / "derived.json").read_text())["metrics"]
    for summary in summaries:
        timed = summary["name"] in ("Throughput", "ExposedCommunication")
        assert ("virtual ranks" in summary.get("unavailable", "")) == timed
        assert (summary["values"] == [None]) == timed


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("AccuracyPerMegabyte", "no rank sent anything"),
        ("BytesPerRank", "the recipe has no ranks"),
        ("MessagesPerRank", "the recipe has no ranks"),
        ("ConsensusDistance", "the recipe has no ranks"),
        ("ExposedCommunication", "the recipe has no ranks"),
        ("LoadImbalance", "fewer than two ranks train"),
        ("Staleness", "the scheme records no staleness"),
    ],
)
def test_what_one_process_does_not_have_is_unavailable(name: str, reason: str) -> None:
    """It was said to diverge."""
    plan = checked_plan(plan_document({}))
    qualities = {"validation": {"accuracy": 50.0}, "test": {"accuracy": 80.0}}
    alone = History(0, {"loss": [1.0], "seconds": [1.0]}, {}, [qualities])
    form = MetricForm(name, {})
    summary = metric_summary(form, None, [alone] * 6, plan)
    assert summary.unavailable == reason
    assert not any("diverged" in note for note in summary.notes)


def test_metrics_of_communication() -> None:
    history = History(
        0,
        {
            "loss": [1.0],
            "seconds": [3.0],
            "seconds of rank 0": [2.0] * 9,
            "waiting of rank 0": [1.0] * 9,
            "seconds of rank 1": [2.0] * 9,
            "waiting of rank 1": [0.0] * 9,
            "staleness of rank 2": [0, 1, 1, 2],
            "consensus distance": [4.0, 0.5],
        },
        {"bytes of rank 0": 3e6, "bytes of rank 1": 1e6, "messages of rank 0": 7},
        [{"validation": {"accuracy": 50.0}, "test": {"accuracy": 80.0}}],
    )
    assert BytesPerRank().value(history) == 3e6
    assert MessagesPerRank().value(history) == 7
    assert ExposedCommunication().value(history) == 25.0
    # 2 s against a mean of 1.5 s
    assert LoadImbalance().value(history) == pytest.approx(100 / 3)
    assert Staleness().value(history) == 1.0
    assert Staleness().histogram(history) == {0: 1, 1: 2, 2: 1}
    assert ConsensusDistance().value(history) == 0.5
    assert AccuracyPerMegabyte().value(history) == 20.0
    alone = History(0, {"loss": [1.0], "seconds": [1.0]})
    for metric in (
        BytesPerRank,
        ExposedCommunication,
        LoadImbalance,
        Staleness,
        ConsensusDistance,
    ):
        assert metric().value(alone) is None


def test_ranks_that_are_alike_have_no_load_imbalance() -> None:
    rng = np.random.default_rng(5)
    series = {"loss": [1.0], "seconds": [1.0]}
    for rank in range(3):
        series[f"seconds of rank {rank}"] = [*rng.gamma(9, size=40)]
        series[f"waiting of rank {rank}"] = [0.0] * 40
    assert LoadImbalance().value(History(0, series)) == 0.0
