"""Show the progress of a run."""

import time
from typing import TYPE_CHECKING, Any, TextIO

from ...progress import ProgressLine
from .event import Event

if TYPE_CHECKING:
    from ..trainer import Trainer


class ProgressBar(Event):
    """One line with the progress of the run: redrawn on a terminal, elsewhere printed anew from time to time."""

    SECONDS_BETWEEN_CALLS = 0.25

    def __init__(self, stream: TextIO | None = None):
        self.line = ProgressLine(stream)
        self.called = 0.0

    def after_step(self, trainer: "Trainer", outputs: dict[str, Any]) -> None:
        if time.monotonic() - self.called > self.SECONDS_BETWEEN_CALLS:
            self.tell(trainer)

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        self.tell(trainer)

    def after_run(self, trainer: "Trainer") -> None:
        self.line.close()

    def tell(self, trainer: "Trainer") -> None:
        self.called = time.monotonic()
        epochs = trainer.epochs
        all_samples = epochs * len(trainer.splits["train"])
        fraction = trainer.samples / all_samples
        epoch = min(trainer.epoch + 1, epochs)
        text = f"epoch {epoch} of {epochs}"
        if trainer.evaluations:
            quality = trainer.task.qualities[0]
            qualities = trainer.evaluations[-1]["validation"]
            value = qualities[quality.name]
            reached = f", validation {quality.name} {value:.3g} {quality.unit}"
            text += reached.rstrip()
        self.line(min(fraction, 1.0), text)
