"""What may happen along the way of a training run; the clock stands still meanwhile."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ..contracts.metric import quality_named
from ..progress import ProgressLine
from .checkpoint import save_checkpoint

if TYPE_CHECKING:
    from .trainer import Trainer


class Event:
    """Base of events: override what you need; what is not overridden is never called.

    A True from before_epoch or after_epoch ends the run. What decides by the trainer's evaluations alone belongs in
    before_epoch: then a resumed run ends where an uninterrupted one does.
    """

    def before_epoch(self, trainer: "Trainer", epoch: int) -> bool | None:
        """Epoch `epoch` (from 0) is next."""

    def after_step(self, trainer: "Trainer", outputs: dict[str, Any]) -> None:
        """One step is done; the outputs are native, and converting them makes the run wait."""

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> bool | None:
        """An epoch is done and evaluated."""

    def after_run(self, trainer: "Trainer") -> None:
        """The run is over, well or by an error."""

    def state(self) -> Mapping[str, Any]:
        """What a checkpoint keeps of this event, arrays and JSON values by name; nothing by default."""
        return {}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` gave, before a resumed run goes on."""


class TargetReached(Event):
    """Ends the run once a quality on validation data (by default the task's first) has reached `target`."""

    def __init__(self, target: float, quality: str | None = None):
        self.target, self.quality = target, quality

    def before_epoch(self, trainer: "Trainer", epoch: int) -> bool:
        qualities = {quality.name: quality for quality in trainer.task.qualities}
        quality = quality_named(self.quality or trainer.task.qualities[0].name, qualities)
        values = [record["validation"][quality.name] for record in trainer.evaluations]
        if quality.better == "higher":
            return any(value >= self.target for value in values)
        return any(value <= self.target for value in values)


class SaveCheckpoint(Event):
    """Keeps one checkpoint, of the last whole epoch."""

    def __init__(self, path: str | Path):
        self.path = path

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        save_checkpoint(self.path, trainer.checkpoint())


class ProgressBar(Event):
    """One line that says how far the run is: redrawn on a terminal, elsewhere a new one now and then."""

    SECONDS_BETWEEN_CALLS = 0.1

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
        self.line(fraction, text)
