import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deep500.errors import Deep500Error
from deep500.training.checkpoint import load_checkpoint
from deep500.training.events import Event, ProgressBar, SaveCheckpoint, TargetReached
from deep500.training.trainer import Trainer

Make = Callable[..., Trainer]


class Diary(Event):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def before_epoch(self, trainer: Trainer, epoch: int) -> None:
        self.lines.append(f"before {epoch}")

    def after_step(self, trainer: Trainer, outputs: dict[str, Any]) -> None:
        assert set(outputs) == {"loss", "logits"}
        self.lines.append("step")

    def after_epoch(self, trainer: Trainer, record: dict[str, Any]) -> None:
        self.lines.append(f"after {record['epoch']} at {record['step']}")

    def after_run(self, trainer: Trainer) -> None:
        self.lines.append("end")


class StopAfter(Event):
    def __init__(self, epochs: int) -> None:
        self.epochs = epochs

    def after_epoch(self, trainer: Trainer, record: dict[str, Any]) -> bool:
        return record["epoch"] == self.epochs


def test_events_are_told_in_order(trainer: Make) -> None:
    diary = Diary()
    trainer(epochs=2, events=[diary]).run()
    steps = ["step"] * 10
    assert diary.lines == [
        "before 0",
        *steps,
        "after 1 at 10",
        "before 1",
        *steps,
        "after 2 at 20",
        "end",
    ]


def test_the_list_of_events_stays_as_it_was(trainer: Make) -> None:
    events: list[Event] = [StopAfter(1), Diary()]
    kept = events.copy()
    run = trainer(events=events)
    run.run()
    assert events == kept
    events.clear()
    assert len(run.events) == 2


def test_every_event_is_told_even_if_one_ends_the_run(trainer: Make) -> None:
    diary = Diary()
    history = trainer(events=[StopAfter(2), diary]).run()
    assert history.steps == 20 and diary.lines[-2:] == ["after 2 at 20", "end"]
    assert history.evaluations[-1]["test"] is not None


def test_a_target_ends_the_run_when_it_is_reached(trainer: Make) -> None:
    every = trainer(epochs=30).run().evaluations
    reached = [record["validation"]["accuracy"] for record in every]
    target = max(reached)
    first = reached.index(target) + 1
    history = trainer(epochs=30, events=[TargetReached(target)]).run()
    assert (
        len(history.evaluations) == first < 30
        and history.evaluations[-1]["test"] is not None
    )
    assert len(trainer(epochs=5, events=[TargetReached(100.1)]).run().evaluations) == 5


def test_a_resumed_run_ends_where_the_first_did(trainer: Make, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    whole = trainer(epochs=30, events=[TargetReached(15), SaveCheckpoint(path)]).run()
    resumed = trainer(epochs=30, events=[TargetReached(15)]).run(load_checkpoint(path))
    assert whole.evaluations == resumed.evaluations and len(whole.evaluations) < 30


def test_the_end_is_told_after_an_error(trainer: Make) -> None:
    class Fails(Event):
        def after_step(self, trainer: Trainer, outputs: dict[str, Any]) -> None:
            raise KeyboardInterrupt

    diary = Diary()
    with pytest.raises(KeyboardInterrupt):
        trainer(events=[diary, Fails()]).run()
    assert diary.lines == ["before 0", "step", "end"]


ERASED = "\x1b[1A\x1b[2K"  # one line up, and that line is empty


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_progress_bar_draws_on_a_terminal_and_cleans_up(
    trainer: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    trainer(epochs=2, events=[ProgressBar(stream)]).run()
    drawn = stream.getvalue()
    assert "epoch 1 of 2" in drawn
    assert "100% epoch 2 of 2, validation accuracy" in drawn
    assert drawn.endswith(ERASED)


def test_the_progress_bar_is_silent_elsewhere(trainer: Make) -> None:
    stream = io.StringIO()
    trainer(epochs=2, events=[ProgressBar(stream)]).run()
    assert stream.getvalue() == ""


class Patience(Event):
    """Ends the run after some epochs without a better validation accuracy; it must remember how many."""

    def __init__(self, epochs: int) -> None:
        self.epochs, self.best, self.waited = epochs, -1.0, 0
        self.trace = np.zeros(3)

    def after_epoch(self, trainer: Trainer, record: dict[str, Any]) -> bool:
        accuracy = record["validation"]["accuracy"]
        self.waited = 0 if accuracy > self.best else self.waited + 1
        self.best = max(self.best, accuracy)
        self.trace = np.append(self.trace[1:], accuracy)
        return self.waited >= self.epochs

    def state(self) -> dict[str, Any]:
        return {"best": self.best, "waited": self.waited, "trace": self.trace}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.best, self.waited, self.trace = (
            state["best"],
            state["waited"],
            state["trace"],
        )


class InterruptAfter(Event):
    def __init__(self, epochs: int) -> None:
        self.epochs = epochs

    def before_epoch(self, trainer: Trainer, epoch: int) -> None:
        if epoch == self.epochs:
            raise KeyboardInterrupt


def test_the_state_of_an_event_is_saved_and_restored(
    trainer: Make, tmp_path: Path
) -> None:
    whole_patience = Patience(5)
    whole = trainer(epochs=40, events=[whole_patience]).run()
    assert 5 < len(whole.evaluations) < 40
    path = tmp_path / "run.safetensors"
    for stop in range(1, len(whole.evaluations)):
        events = [SaveCheckpoint(path), Patience(5), InterruptAfter(stop)]
        with pytest.raises(KeyboardInterrupt):
            trainer(epochs=40, events=events).run()
        patience = Patience(5)
        resumed = trainer(epochs=40, events=[patience]).run(load_checkpoint(path))
        assert len(resumed.evaluations) == len(whole.evaluations)
        assert np.array_equal(patience.trace, whole_patience.trace)


def test_the_state_of_an_event_that_is_gone_or_new_is_refused(
    trainer: Make, tmp_path: Path
) -> None:
    path = tmp_path / "run.safetensors"
    trainer(epochs=1, events=[Patience(2), Patience(3), SaveCheckpoint(path)]).run()
    start = load_checkpoint(path)
    assert {"event Patience", "event Patience 2"} <= {*start.sections}
    with pytest.raises(
        Deep500Error, match="has a section 'event Patience 2', and this run has none"
    ):
        trainer(events=[Patience(2)]).run(start)
    with pytest.raises(Deep500Error, match="has no section 'event Patience 3'"):
        trainer(events=[Patience(2), Patience(3), Patience(4)]).run(start)


def test_an_event_adds_series_and_counters(trainer: Make, tmp_path: Path) -> None:
    class Rates(Event):
        def after_step(self, trainer: Trainer, outputs: dict[str, Any]) -> None:
            trainer.record("rate", 0.5**trainer.epoch)
            trainer.counters["tokens"] = trainer.counters.get("tokens", 0) + 3

    path = tmp_path / "run.safetensors"
    history = trainer(epochs=2, events=[Rates(), SaveCheckpoint(path)]).run()
    assert history.series["rate"] == [1.0] * 10 + [0.5] * 10
    assert (history.counters["samples"], history.counters["tokens"]) == (300, 60)
    resumed = trainer(epochs=3, events=[Rates()]).run(load_checkpoint(path))
    assert resumed.series["rate"] == [1.0] * 10 + [0.5] * 10 + [0.25] * 10
    assert resumed.counters["tokens"] == 90
