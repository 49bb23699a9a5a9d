"""Recipes that cheat: what they do outside of their clock, or to it, is marked in `d5 verify` and in the report."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deep500 import cli
from deep500.bundle.records.verification import verify
from deep500.rerun.recipe_files import load_recipe
from deep500.rerun.recipe_runner import run
from deep500.results.outcomes.remarks import recipe_remarks
from deep500.training.recipe_blocks import Epoch, Look
from tests.training.recipe_documents import checked_plan, plan_document

ROOT = Path(__file__).parents[2]
HONEST = """
import deep500 as d5

FIXED = {"model": "mlp", "dataset": "digits", "epochs": 4}
MUTABLE = {"batch_size": 64, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1)}
METRICS = [(d5.TestAccuracy(), None), (d5.TimeToAccuracy(15.0), None), (d5.Throughput(), None)]
"""
# the steps are queued for a thread, which does them while the network is evaluated
THREAD = '''
import queue
import threading

import numpy as np

REPEAT = 20  # so that a fast machine has something to do, too


class Later:
    """A training step that is done later; until the first evaluation nothing is."""

    def __init__(self, step, waiting, go):
        self.step, self.waiting, self.go = step, waiting, go
        self.state_grows = step.state_grows
        self.building = 2

    def __call__(self, batch, first_row=0):
        if self.building:  # the trainer tries the step before it begins
            self.building -= 1
            return self.step(batch, first_row)
        self.waiting.put((batch, first_row))
        return {"loss": np.float32(1.0)}

    def state(self):
        return self.step.state()

    def load_state(self, state):
        self.step.load_state(state)


def from_model(model, **options):
    executor = d5.framework("reference").from_model(model, **options)
    waiting, go = queue.Queue(), threading.Event()
    step, inference = executor.training_step, executor.inference

    def work():
        while True:
            go.wait()
            batch, first_row = waiting.get()
            for _ in range(REPEAT):
                made[0].step(batch, first_row)
            waiting.task_done()

    made = []

    def training_step(optimizer, y="loss"):
        made[:] = [Later(step(optimizer, y), waiting, go)]
        return made[0]

    def evaluated(batch):
        go.set()
        waiting.join()
        go.clear()
        return inference(batch)

    threading.Thread(target=work, daemon=True).start()
    executor.training_step, executor.inference = training_step, evaluated
    return executor
'''
CLOCK = """
import time

from deep500.training import trainer

REAL = time.perf_counter_ns
trainer.now = lambda: REAL() // 10


class Slow(d5.events.Event):
    def after_step(self, trainer, outputs):
        time.sleep(0.01)
"""
EVENT = """
import time


class Busy(d5.events.Event):
    \"\"\"Works between the steps, outside of the clock.\"\"\"

    def after_step(self, trainer, outputs):
        end = time.process_time() + 0.012
        while time.process_time() < end:
            pass
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    return tmp_path


def ran(home: Path, text: str, seeds: int = 2) -> Path:
    path = home / "small.py"
    path.write_text(text)
    return run(load_recipe(path), home / "run", seeds=seeds).bundle


def marks(folder: Path) -> list[str]:
    found = verify(folder)
    assert found.ok, found.problems
    return list(found.remarks)


def test_an_honest_run_has_no_mark(home: Path) -> None:
    assert marks(ran(home, HONEST)) == []


def test_steps_that_are_done_during_evaluation_are_marked(
    home: Path, capsys: Any
) -> None:
    text = HONEST.replace('"executor": "reference"', '"executor": from_model')
    folder = ran(home, text.replace("\nFIXED", f"{THREAD}\n\nFIXED", 1))
    [mark] = marks(folder)
    assert mark.startswith("evaluating an example took")
    assert "left work to be done after their clock had stopped" in mark
    assert cli.main(["show", str(folder)]) == 0
    assert "Mark: evaluating an example took" in capsys.readouterr().out
    assert cli.main(["show", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["remarks"] == [mark]
    (home / "honest.py").write_text(HONEST)
    honest = run(load_recipe(home / "honest.py"), home / "honest", seeds=2).bundle
    capsys.readouterr()
    cli.main(["compare", str(honest), str(folder)])
    said = " ".join(capsys.readouterr().out.split())
    assert "mark on B: evaluating an example took" in said
    assert "FIXED and MUTABLE are the same in both." not in said


def test_a_clock_that_counts_less_is_marked(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deep500.training import trainer

    monkeypatch.setattr(trainer, "now", trainer.now)  # undone after the test
    text = HONEST.replace("\nFIXED", f"{CLOCK}\n\nFIXED", 1)
    found = marks(ran(home, text.replace("SGD(0.1)}", 'SGD(0.1), "events": [Slow()]}')))
    assert any(
        "one of them was changed, or the machine slept" in mark for mark in found
    )


def test_work_of_events_is_marked(home: Path) -> None:
    text = HONEST.replace("\nFIXED", f"{EVENT}\n\nFIXED", 1)
    found = marks(ran(home, text.replace("SGD(0.1)}", 'SGD(0.1), "events": [Busy()]}')))
    assert any("outside of steps and evaluations, by events" in mark for mark in found)


def epoch(seed: int, number: int, **counters: float) -> Epoch:
    """The counters of an epoch of 100 examples that trained for 1 s and was evaluated for a tenth."""
    usual = {
        "samples": 100 * number,
        "training cpu seconds": 1.0 * number,
        "evaluation cpu seconds": 0.1 * number,
        "run cpu seconds": 1.2 * number,
        "run seconds": 1.3 * number,
        "unix time": 1e9 + 1.3 * number,
    }
    look = Look(number, number, 1.0 * number, {"accuracy": 50.0})
    series = {"loss": [1.0], "seconds": [1.0]}
    return Epoch(seed=seed, series=series, counters=usual | counters, evaluation=look)


def test_a_compiler_in_the_first_evaluation_is_no_mark() -> None:
    examples = {"validation": 50}
    plan = checked_plan(plan_document({}, seeds=[0], examples=examples))
    first = epoch(0, 1, **{"evaluation cpu seconds": 60.0, "run cpu seconds": 61.2})
    later = [
        epoch(
            0,
            n,
            **{"evaluation cpu seconds": 60.0 + 0.1 * n, "run cpu seconds": 61.2 + n},
        )
        for n in (2, 3)
    ]
    assert list(recipe_remarks(plan, [first, *later])) == []
    always = [
        epoch(0, n, **{"evaluation cpu seconds": 2.0 * n, "run cpu seconds": 3.2 * n})
        for n in (1, 2, 3)
    ]
    [mark] = recipe_remarks(plan, always)
    assert mark.startswith("evaluating an example took 40.00 ms of CPU time")


def test_the_report_says_what_a_sceptic_asks(home: Path, capsys: Any) -> None:
    ran(home, HONEST, seeds=3)
    ran_again = run(load_recipe(home / "small.py"), home / "second", seeds=3).bundle
    capsys.readouterr()
    assert cli.main(["show", str(ran_again)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for sentence in (
        "What a sceptic asks",
        "steps: all that times and rates count",
        "evaluation |",
        "events, checkpoints, the rest",
        "counts the steps alone",
        "with building, evaluations and events they took",
        "Threads: 1 on",
        "one by default, so that a seed gives the same bits again",
        "had 1 earlier runs of this FIXED: 1 finished",
        "`small.py`",
    ):
        assert sentence in said, sentence
    known = "Others used" in said and "CPUs (median of" in said
    assert known or "others used the machine was not recorded" in said


EXECUTOR = """
import numpy as np

LOOKED_UP = {
    split.arrays["x"][row].tobytes(): int(split.arrays["label"][row])
    for split in d5.datasets.Digits().load().values()
    for row in range(len(split))
}


def from_model(model, **options):
    executor = d5.framework("reference").from_model(model, **options)
    inference = executor.inference

    def looked_up(batch):
        outputs = inference(batch)
        labels = [LOOKED_UP[np.asarray(x).tobytes()] for x in batch["x"]]
        outputs["logits"] = 1e3 * np.eye(10, dtype=np.float32)[labels]
        return outputs

    executor.inference = looked_up
    return executor
"""
SITE = """
import time

counter = time.perf_counter_ns
time.perf_counter_ns = lambda: counter() // 10
"""
DROP = """
class Drop(d5.events.Event):
    def before_epoch(self, trainer, epoch):
        if epoch == 2 and trainer.sampler.seed > 0:
            return "a bad seed"
"""
PATCH = """
from deep500.tasks.classification import Classification

measure = Classification.measure
Classification.measure = lambda self, outputs, batch: {
    **measure(self, outputs, batch), "accuracy": 100.0 + 0 * batch["label"]
}
"""


def with_code(code: str, old: str = "", new: str = "") -> str:
    return HONEST.replace("\nFIXED", f"{code}\n\nFIXED", 1).replace(old, new)


def test_an_executor_that_looks_labels_up_is_not_replayed_without_its_file(
    home: Path, capsys: Any
) -> None:
    text = with_code(EXECUTOR, '"executor": "reference"', '"executor": from_model')
    folder = ran(home, text)
    capsys.readouterr()
    assert cli.main(["verify", str(folder), "--replay"]) == 3
    said = capsys.readouterr().out
    assert "replay not decided: the recipe brings its own executor" in said
    assert cli.main(["show", str(folder)]) == 0
    assert "`small.py`" in capsys.readouterr().out


def test_seeds_that_an_event_ends_come_first_in_the_report(
    home: Path, capsys: Any
) -> None:
    text = with_code(DROP, "SGD(0.1)}", 'SGD(0.1), "events": [Drop()]}')
    folder = ran(home, text, seeds=3)
    capsys.readouterr()
    assert cli.main(["show", str(folder)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "a bad seed" in said and "of 3 seeds" in said


def in_a_process(home: Path, text: str, **variables: str) -> Path:
    """A run in a process of its own, which keeps to itself what it patches."""
    (home / "small.py").write_text(text)
    words = ["run", "small.py", "--seeds", "2", "--out", "run"]
    subprocess.run(
        [sys.executable, "-m", "deep500.cli", *words],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        check=False,
        capture_output=True,
        timeout=200,
    )
    return home / "run"


def test_a_patched_metric_is_caught_by_the_replay(home: Path, capsys: Any) -> None:
    folder = in_a_process(home, with_code(PATCH))
    assert verify(folder).ok
    capsys.readouterr()
    assert cli.main(["verify", str(folder), "--replay"]) == 1


def test_a_patched_interpreter_is_in_the_report(home: Path, capsys: Any) -> None:
    (home / "site").mkdir()
    (home / "site" / "sitecustomize.py").write_text(SITE)
    path = f"{home / 'site'}{os.pathsep}{ROOT}"
    folder = in_a_process(home, HONEST, PYTHONPATH=path)
    assert verify(folder).ok
    capsys.readouterr()
    assert cli.main(["show", str(folder)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "PYTHONPATH was set" in said
    assert "imported modules before the program: sitecustomize, sha256" in said
