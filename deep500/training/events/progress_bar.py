"""Say how far a run is."""

import time
from typing import TYPE_CHECKING, Any, TextIO

from ...progress import ProgressLine
from .event import Event

if TYPE_CHECKING:
    from ..trainer import Trainer


class ProgressBar(Event):
    """One line that says how far the run is: redrawn on a terminal, elsewhere a new one now and then."""

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
        fraction = trainer.samples / (trainer.epochs * len(trainer.splits["train"]))
        text = f"epoch {min(trainer.epoch + 1, trainer.epochs)} of {trainer.epochs}"
        if trainer.evaluations:
            quality = trainer.task.qualities[0]
            value = trainer.evaluations[-1]["validation"][quality.name]
            text += f", validation {quality.name} {value:.3g} {quality.unit}".rstrip()
        self.line(min(fraction, 1.0), text)
