"""Says how far a training is, step by step."""

from collections.abc import Callable
from typing import Any

from ...training.events import Event
from ...training.trainer import Trainer


class StepProgress(Event):
    """Calls a function with the share of the steps that are done."""

    def __init__(self, steps: int, progress: Callable[[float, str], None]):
        self.steps = steps
        self.progress = progress
        self.done = 0

    def after_step(self, trainer: Trainer, outputs: dict[str, Any]) -> None:
        self.done += 1
        share = min(1.0, self.done / self.steps)
        self.progress(share, f"training, step {self.done} of {self.steps}")
