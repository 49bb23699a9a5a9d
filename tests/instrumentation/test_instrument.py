"""`d5.instrument`: what a script did is in its bundle, whatever ended it."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.bundle.records.loading import as_json, load, rendered, report_of
from deep500.bundle.records.verification import verify
from deep500.instrumentation.run import InstrumentedRun
from deep500.reports.html import html
from deep500.reports.terminal import terminal
from deep500.results.instrumented import Instrumented
from deep500.results.instrumenting.blocks import ScriptPlan, Stretch
from deep500.results.instrumenting.numbers import stretches

EXAMPLES = Path(__file__).parents[2] / "examples"


def start(folder: Path, **settings: Any) -> InstrumentedRun:
    return d5.instrument("test", out=folder, **settings)


def blocks_of(folder: Path) -> list[Any]:
    return [*load(folder).blocks]


def steps_of(folder: Path) -> list[Stretch]:
    return [*stretches(blocks_of(folder))]


def script(text: str, folder: Path, **options: Any) -> subprocess.CompletedProcess:
    begin = (
        f"import deep500 as d5\nrun = d5.instrument('script', out={str(folder)!r})\n"
    )
    return subprocess.run(
        [sys.executable, "-c", begin + text],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


def test_what_a_script_did_is_in_its_bundle(tmp_path):
    folder = tmp_path / "run"
    losses = [0.1 * 3, 1e-30, 2.0, 5.0]
    with start(folder, better={"accuracy": "higher"}, settings={"rate": 0.1}) as run:
        for number, loss in enumerate(losses):
            run.step(loss=np.float64(loss), examples=10 + number)
            if number % 2:
                run.evaluation(accuracy=90 - number, error=0.5)
    assert verify(folder).ok
    record = load(folder)
    assert record.plan.settings == {"rate": 0.1}
    assert [
        loss for steps in steps_of(folder) for loss in steps.values["loss"]
    ] == losses
    derived = record.derived
    assert derived.steps == 4 and derived.examples == 10 + 11 + 12 + 13
    assert derived.values["loss"].least == 1e-30
    accuracy, error = derived.qualities
    assert (accuracy.last, accuracy.best, accuracy.n) == (87, 89, 2)
    assert error.best is None  # nobody said which direction is good
    assert derived.ended == ""
    json.dumps(as_json(record))
    assert "test: 4 steps" in rendered(terminal, report_of(record))
    assert "<svg" in rendered(html, report_of(record))


def test_nothing_of_the_time_is_hidden(tmp_path, monkeypatch):
    """With a clock that counts its readings, every second is in exactly one part."""
    import deep500.instrumentation.run as module
    import deep500.measure.regions.step_regions as regions

    seconds = iter(range(10_000))
    monkeypatch.setattr(module, "perf_counter", lambda: next(seconds))
    monkeypatch.setattr(regions, "perf_counter", lambda: next(seconds))
    folder = tmp_path / "run"
    with start(folder) as run:
        for _ in run.batches([1, 2, 3]):
            with run.region("forward"), run.region("inner"):
                pass
            run.step(loss=0.0)
        run.evaluation(accuracy=1.0)
    derived = load(folder).derived
    parts = derived.parts
    known = parts.steps + parts.evaluation + parts.outside + parts.recording
    assert parts.steps > 0 and parts.outside == 1
    assert 0 <= parts.whole - known < 10  # a few readings while the run ended
    rows = {row.path: row.time.total for row in derived.regions}
    assert rows.keys() == {"data", "forward", "forward/inner", "other"}
    # three readings apart, one
    assert rows["forward"] == 3 * 3 and rows["forward/inner"] == 3 * 1
    assert rows["data"] + rows["forward"] + rows["other"] == parts.steps


def test_a_region_around_the_whole_loop_is_shared_out_over_its_steps(
    tmp_path, monkeypatch
):
    import deep500.measure.regions.step_regions as regions

    seconds = iter(range(10_000))
    monkeypatch.setattr(regions, "perf_counter", lambda: next(seconds))
    folder = tmp_path / "run"
    with start(folder) as run, run.region("train"):
        for _ in range(3):
            run.step(loss=0.0)
    [steps] = steps_of(folder)
    assert steps.regions["train"] == [1, 1, 1]


class Scalar:
    """A value of an asynchronous framework, which counts how often somebody waited for it."""

    waits = 0

    def __float__(self) -> float:
        Scalar.waits += 1
        return 1.5


def test_values_stay_native_until_an_evaluation(tmp_path):
    Scalar.waits = 0
    with start(tmp_path / "run") as run:
        for _ in range(5):
            run.step(loss=Scalar())
        assert Scalar.waits == 1  # the first one was shown to be a number
        run.evaluation(accuracy=1.0)
        assert Scalar.waits == 6


def test_every_step_waits_if_it_is_told_to(tmp_path):
    Scalar.waits = 0
    folder = tmp_path / "run"
    with start(folder, wait=True) as run:
        for _ in range(3):
            run.step(loss=Scalar())
        assert Scalar.waits == 1 + 3
    assert "wait" in steps_of(folder)[0].regions


def test_a_tensor_lets_go_of_its_graph(tmp_path):
    torch = pytest.importorskip("torch")
    with start(tmp_path / "run") as run:
        weight = torch.ones(3, requires_grad=True)
        run.step(loss=(weight * 2).sum())
        assert run._steps[0][2]["loss"].grad_fn is None


def test_a_loss_that_is_no_number_is_refused_at_its_first_step(tmp_path):
    with (
        pytest.raises(
            d5.Deep500Error, match="loss is not one number.*mean over the batch"
        ),
        start(tmp_path / "run") as run,
    ):
        run.step(loss=np.ones(64))


def test_a_loss_that_is_not_finite_is_kept_and_said(tmp_path):
    folder = tmp_path / "run"
    with start(folder) as run:
        for loss in (1.0, math.nan, math.inf, -math.inf):
            run.step(loss=loss)
    [steps] = steps_of(folder)
    assert steps.values["loss"] == [1.0, "nan", "inf", "-inf"]
    assert load(folder).derived.values["loss"].not_finite_at == 2


def test_a_quality_that_is_not_finite_is_counted_and_said(tmp_path):
    folder = tmp_path / "run"
    with start(folder, better={"accuracy": "higher"}) as run:
        for step in range(1, 6):
            run.step(loss=math.nan if step == 3 else 1.0)
        run.evaluation(accuracy=50.0, other=math.inf)
        run.evaluation(accuracy=math.nan, other=math.inf)
    record = load(folder)
    [accuracy, other] = record.derived.qualities
    assert accuracy.n == 2 and accuracy.not_finite == 1
    assert accuracy.last is None and accuracy.best == 50.0
    assert other.n == other.not_finite == 2 and other.best is None
    text = " ".join(rendered(terminal, report_of(load(folder))).split())
    assert "| not a number | 50.00 | 2, 1 of them not a number |" in text
    assert "step 3 (1 of 5)" in text


def test_a_value_of_some_steps_only(tmp_path):
    folder = tmp_path / "run"
    with start(folder) as run:
        run.step(loss=1.0)
        run.evaluation(accuracy=1.0)
        run.step(loss=1.0, norm=3.0)
        run.step(loss=1.0)
    assert load(folder).derived.values["norm"].n == 1
    assert steps_of(folder)[1].values["norm"] == [3.0, None]


def test_an_exception_leaves_a_partial_bundle(tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(ZeroDivisionError) as raised, start(folder) as run:
        run.step(loss=1.0)
        run.step(loss=1 / 0)
    assert raised.traceback[-1].name == "test_an_exception_leaves_a_partial_bundle"
    answer = verify(folder)
    assert answer.ok and not answer.finished
    assert load(folder).derived.ended == "ended by ZeroDivisionError: division by zero"
    assert steps_of(folder)[0].values["loss"] == [1.0]


@pytest.mark.parametrize(("code", "finished"), [(0, True), (None, True), (3, False)])
def test_sys_exit_keeps_its_code(code, finished, tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(SystemExit) as raised, start(folder) as run:
        run.step(loss=1.0)
        sys.exit(code)
    assert raised.value.code == code
    assert verify(folder).finished is finished


def test_a_script_that_fails_without_a_with_block(tmp_path):
    folder = tmp_path / "run"
    answer = script("run.step(loss=1.0)\nraise ValueError('oh')", folder)
    assert answer.returncode == 1 and answer.stderr.endswith("ValueError: oh\n")
    assert load(folder).derived.ended == "ended by ValueError: oh"


def test_a_script_that_forgets_to_finish(tmp_path):
    folder = tmp_path / "run"
    assert script("run.step(loss=1.0)", folder).returncode == 0
    assert load(folder).derived.ended.endswith("ended without run.finish()")


def test_a_killed_script_loses_nothing_that_was_written(tmp_path):
    folder = tmp_path / "run"
    killed = script(
        "import os\nrun.step(loss=1.0)\nrun.evaluation(accuracy=2.0)\nrun.step(loss=3.0)\n"
        "os.kill(os.getpid(), 9)",
        folder,
    )
    assert killed.returncode == -signal.SIGKILL
    answer = verify(folder)
    assert answer.ok and not answer.finished and answer.blocks == 2
    assert load(folder).derived.ended == "unfinished: no end was recorded"


def test_long_epochs_are_written_in_between(tmp_path, monkeypatch):
    monkeypatch.setattr("deep500.instrumentation.run.SECONDS_BETWEEN_BLOCKS", 0.0)
    folder = tmp_path / "run"
    with start(folder) as run:
        run.step(loss=1.0)
        assert len(run._recording.blocks) == 1
        run.step(loss=1.0)
    assert [steps.first for steps in steps_of(folder)] == [1, 2]


def test_memory_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("deep500.instrumentation.run.MOST_PENDING", 3)
    with start(tmp_path / "run") as run:
        for _ in range(4):
            run.step(loss=1.0)
            assert len(run._steps) < 3


def test_a_full_disk_does_not_end_the_script(tmp_path):
    folder = tmp_path / "run"
    answer = script(
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "size = (run.folder / 'samples.jsonl').stat().st_size\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (size + 5, size + 5))\n"
        "run.step(loss=1.0)\nrun.evaluation(accuracy=2.0)\nprint('trained')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))\n",
        folder,
    )
    assert (
        answer.stdout == "trained\n"
        and "recording stopped, the script goes on" in answer.stderr
    )


def test_finish_says_that_recording_stopped(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    run = start(folder)
    run.step(loss=1.0)
    run.evaluation(accuracy=1.0)

    def full(block: object) -> None:
        raise d5.Deep500Error("no space left")

    monkeypatch.setattr(run._recording, "append", full)
    run.step(loss=1.0)
    with pytest.warns(UserWarning, match="the script goes on: no space left"):
        run.evaluation(accuracy=1.0)
    with pytest.raises(d5.Deep500Error, match="no space left"):
        run.finish()
    assert verify(folder).blocks == 2


def test_nothing_recorded_is_said(tmp_path):
    with pytest.raises(d5.Deep500Error, match="call run.step"), start(tmp_path / "run"):
        pass
    assert not (tmp_path / "run").exists()


def test_a_closed_run_takes_nothing(tmp_path):
    run = start(tmp_path / "run")
    run.step(loss=1.0)
    run.finish()
    with pytest.raises(d5.Deep500Error, match="is closed"):
        run.evaluation(accuracy=1.0)


def test_a_folder_that_is_not_empty_is_refused_at_once(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(d5.Deep500Error, match="is not empty"):
        start(tmp_path)


@pytest.mark.parametrize("name", ["", "a/b", 3])
def test_a_name_that_no_region_can_have(name, tmp_path):
    with (
        pytest.raises(d5.Deep500Error, match="give a name without '/'"),
        start(tmp_path / "r") as r,
    ):
        r.region(name)


def test_too_many_regions(tmp_path):
    with (
        pytest.raises(d5.Deep500Error, match="leave counters out of the name"),
        start(tmp_path / "run") as run,
    ):
        for number in range(300):
            with run.region(f"step {number}"):
                pass


def test_regions_belong_to_one_thread(tmp_path):
    errors = []

    def work(run: InstrumentedRun) -> None:
        try:
            run.region("data")
        except d5.Deep500Error as error:
            errors.append(str(error))

    with start(tmp_path / "run") as run:
        run.step(loss=1.0)
        thread = threading.Thread(target=work, args=[run])
        thread.start()
        thread.join()
    assert "use deep500.measure.region" in errors[0]


def test_a_seed_reaches_the_generators(tmp_path):
    torch = pytest.importorskip("torch")
    draws: list[Callable[[], float]] = [
        random.random,
        lambda: float(np.random.rand()),
        lambda: float(torch.rand(())),
    ]
    numbers = []
    for name in ("a", "b"):
        with start(tmp_path / name, seed=5) as run:
            run.step(loss=1.0)
            numbers.append([draw() for draw in draws])
    assert numbers[0] == numbers[1]
    plan = load(tmp_path / "a").plan
    assert plan.seed == 5 and {"python", "numpy", "pytorch"} <= {*plan.seeded}


@pytest.mark.parametrize("seed", [-1, 2**40, "x"])
def test_a_seed_that_is_none(seed, tmp_path):
    with pytest.raises(d5.Deep500Error, match="seed is"):
        start(tmp_path / "run", seed=seed)


def test_a_direction_that_is_none(tmp_path):
    with pytest.raises(d5.Deep500Error, match="'higher' or 'lower' is expected"):
        start(tmp_path / "run", better={"accuracy": "up"})


def recorded(folder: Path, losses: list[float], accuracy: float) -> Path:
    with start(folder, settings={"rate": losses[-1]}) as run:
        for loss in losses:
            with run.region("forward"):
                pass
            run.step(loss=loss)
        run.evaluation(accuracy=accuracy)
    return folder


def test_two_runs_are_compared(tmp_path):
    from deep500.bundle.records.bundle_comparison import compare

    first = recorded(tmp_path / "a", [1.0] * 20, 90.0)
    same = recorded(tmp_path / "b", [1.0] * 20, 90.0)
    other = recorded(tmp_path / "c", [1.0] * 19 + [1.0 + 1e-16 + 2e-16], 91.5)
    equal = compare(first, same).to_json()
    assert equal["losses"]["parted_at"] is None and equal["differences"] == []
    assert {row["name"] for row in equal["comparisons"]} == {"step", "forward"}
    different = compare(first, other).to_json()
    assert different["losses"]["parted_at"] == 20
    assert different["qualities"][0]["difference"] == 1.5
    assert [row[0] for row in different["differences"]] == ["rate"]
    assert not compare(first, other).worse  # one run each: no verdict


GOOD = {
    "first": 1,
    "seconds": [0.1],
    "examples": [1],
    "values": {"loss": [1.0]},
    "regions": {"forward": [0.1]},
    "outside": 0.0,
    "recording": 0.0,
}
EVALUATION = {
    "step": 1,
    "split": "test",
    "qualities": {},
    "seconds": 0.1,
    "regions": {},
}


@pytest.mark.parametrize(
    ("blocks", "match"),
    [
        (
            [{"steps": GOOD, "end": {"seconds": 1.0, "reason": ""}}],
            "either steps or an evaluation",
        ),
        ([{"steps": GOOD | {"first": 2}}], "does not follow step 0"),
        ([{"steps": GOOD | {"seconds": []}}], "a list with 1 to"),
        ([{"steps": GOOD | {"seconds": [-1.0]}}], "a number from 0"),
        (
            [{"steps": GOOD | {"values": {"loss": [1.0, 2.0]}}}],
            "one entry of 'loss' for each step",
        ),
        ([{"steps": GOOD | {"values": {"loss": ["many"]}}}], "a number"),
        ([{"steps": GOOD | {"regions": {"forward": [None]}}}], "a number"),
        (
            [{"steps": GOOD}, {"evaluation": EVALUATION | {"step": 7}}],
            "and 1 were done",
        ),
        (
            [{"evaluation": EVALUATION | {"qualities": {"a": "b"}, "step": 0}}],
            "a number",
        ),
        ([{"end": {"seconds": "long", "reason": ""}}], "a number"),
        ([3], "an object"),
    ],
)
def test_blocks_of_anyone_are_refused(blocks, match):
    plan = ScriptPlan("mine", None, [], {}, False, {})
    with pytest.raises(d5.Deep500Error, match=match):
        Instrumented().check_blocks(plan, blocks)
    good = [{"steps": GOOD}, {"evaluation": EVALUATION}]
    assert Instrumented().check_blocks(plan, good)


@pytest.mark.parametrize("name", ["pytorch", "jax", "keras"])
def test_the_examples_add_about_ten_lines(name):
    text = (EXAMPLES / f"instrumented_{name}.py").read_text()
    assert 4 <= text.count("# d5") <= 10


def test_the_bundle_of_an_example(tmp_path):
    pytest.importorskip("torch")
    folder = tmp_path / "quick-start"
    command = [sys.executable, str(EXAMPLES / "instrumented_pytorch.py"), str(folder)]
    subprocess.run(
        command, check=True, capture_output=True, timeout=120, env=dict(os.environ)
    )
    assert verify(folder).ok and verify(folder).finished
    derived = load(folder).derived
    assert derived.steps == 5 * math.ceil(1437 / 64) and derived.examples == 5 * 1437
    paths = {row.path for row in derived.regions}
    assert paths == {"data", "forward", "backward", "update", "other"}
    assert derived.values["loss"].last < derived.values["loss"].first
    assert derived.qualities[0].best > 60
