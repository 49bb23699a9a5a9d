"""Measures how good a network is on the data that it was trained on."""

from typing import TYPE_CHECKING, Any

from ...contracts.executor import Executor
from ..evaluation import evaluate
from ..events import Event

if TYPE_CHECKING:
    from ..trainer import Trainer


class TrainingQuality(Event):
    """After the last epoch, evaluates the training data: the counters "training accuracy" and the like."""

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        if record["epoch"] < trainer.epochs and not trainer.ended:
            return
        train = trainer.splits["train"]
        batch_size = trainer.sampler.batch_size
        qualities = evaluate(trainer.procedure, trainer.task, train, batch_size)
        for name, value in qualities.items():
            trainer.counters[f"training {name}"] = value


def training_quality(executor: Executor, batch_size: int) -> TrainingQuality:
    """The event that evaluates the training data; it is always available."""
    return TrainingQuality()
