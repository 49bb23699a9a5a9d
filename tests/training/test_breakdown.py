"""Where the time of a run went: parts that add up to the whole, and data that are slow are seen."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deep500 import measure
from deep500.contracts.dataset import Split
from deep500.contracts.metric import History
from deep500.frameworks import available_frameworks, framework
from deep500.optimizers import SGD
from deep500.training.breakdown import PARTS, breakdown
from deep500.training.trainer import Trainer

from .softmax_regression import mlp

Make = Callable[..., Trainer]


@pytest.mark.parametrize("name", available_frameworks())
def test_the_parts_add_up_on_every_framework(trainer: Make, name: str) -> None:
    framework(name).set_threads(1)
    plain = trainer(executor=mlp(name), optimizer=SGD(0.1), epochs=1).run()
    run = trainer(executor=mlp(name), optimizer=SGD(0.1), epochs=1, breakdown=True)
    history = run.run()
    parts = breakdown(history)
    assert tuple(parts) == PARTS
    assert min(parts.values()) >= 0
    assert math.fsum(parts.values()) == pytest.approx(history.counters["run seconds"])
    assert history.losses == pytest.approx(plain.losses, rel=1e-5)
    for i, seconds in enumerate(history.step_seconds):
        inside = [
            history.series[part][i]
            for part in ("data", "forward", "backward", "update")
        ]
        assert math.fsum(inside) <= seconds


def test_without_a_request_a_step_is_one_part(trainer: Make) -> None:
    parts = breakdown(trainer(epochs=2).run())
    assert tuple(parts) == ("data", "step", "evaluation", "other")
    assert parts["step"] > 0


class SlowSplit(Split):
    def batch(self, indices: Any, epoch: int = 0) -> dict[str, np.ndarray]:
        time.sleep(0.01)
        return super().batch(indices, epoch)


def test_slow_data_are_never_hidden(trainer: Make, splits: dict[str, Split]) -> None:
    slow = {**splits, "train": SlowSplit(splits["train"].arrays)}
    history = trainer(splits=slow, epochs=1).run()
    assert min(history.series["data"]) >= 0.01
    assert min(history.series["seconds"]) >= 0.01
    assert breakdown(history)["data"] >= 0.1


def test_the_parts_are_regions(trainer: Make) -> None:
    measure.clear_regions()
    trainer("reference", epochs=1, breakdown=True).run()
    rows = {row.path: row.calls for row in measure.breakdown().rows}
    measure.clear_regions()
    steps = {("data",): 11, ("forward",): 10, ("backward",): 10, ("update",): 10}
    assert rows == {**steps, ("evaluation",): 2}


def test_a_history_of_before_has_no_breakdown() -> None:
    assert breakdown(History(0, {"seconds": [1.0], "loss": [1.0]})) == {}
