"""Stop when a quality reaches its target."""

from typing import TYPE_CHECKING

from .arguments import finite
from .event import Ending, Event
from .qualities import main_quality, validation_values

if TYPE_CHECKING:
    from ..trainer import Trainer


class TargetReached(Event):
    """Ends the run once a quality on validation data (by default the task's first) has reached `target`."""

    def __init__(self, target: float, quality: str | None = None):
        self.target = finite("TargetReached", "target", target)
        self.quality = quality

    def before_epoch(self, trainer: "Trainer", epoch: int) -> Ending:
        quality = main_quality(trainer, self.quality)
        for value in validation_values(trainer, quality):
            if quality.better == "higher":
                reached = value >= self.target
            else:
                reached = value <= self.target
            if reached:
                return f"validation {quality.name} has reached {self.target:g} {quality.unit}"
        return None
