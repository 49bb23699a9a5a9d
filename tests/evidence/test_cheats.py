"""Recipes that cheat: what they do outside of their clock, or to it, is marked in `d5 verify` and in the report."""

import json
from pathlib import Path
from typing import Any

import pytest

from deep500 import cli
from deep500.bundle.records.verification import verify
from deep500.rerun.recipe_files import load_recipe
from deep500.rerun.recipe_runner import run
from deep500.results.outcomes.remarks import recipe_remarks

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


def epoch(seed: int, number: int, **counters: float) -> dict[str, Any]:
    """The counters of an epoch of 100 examples that trained for 1 s and was evaluated for a tenth."""
    usual = {
        "samples": 100 * number,
        "training cpu seconds": 1.0 * number,
        "evaluation cpu seconds": 0.1 * number,
        "run cpu seconds": 1.2 * number,
        "run seconds": 1.3 * number,
        "unix time": 1e9 + 1.3 * number,
    }
    return {"seed": seed, "counters": usual | counters}


def test_a_compiler_in_the_first_evaluation_is_no_mark() -> None:
    plan = {"seeds": [0], "examples": {"validation": 50}}
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
