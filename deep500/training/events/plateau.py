"""Stop when a quality no longer improves."""

from typing import TYPE_CHECKING

from .arguments import finite, whole_number
from .event import Ending, Event
from .qualities import main_quality, validation_values

if TYPE_CHECKING:
    from ..trainer import Trainer


class Plateau(Event):
    """Ends the run after `patience` epochs without a better quality on validation data (by default the task's first).

    Only an improvement by more than `change` counts.
    """

    def __init__(self, patience: int, quality: str | None = None, change: float = 0.0):
        self.patience = whole_number("Plateau", "patience", patience)
        self.quality = quality
        self.change = finite("Plateau", "change", change)

    def before_epoch(self, trainer: "Trainer", epoch: int) -> Ending:
        quality = main_quality(trainer, self.quality)
        sign = 1.0 if quality.better == "higher" else -1.0
        best = -float("inf")
        waited = 0
        for value in validation_values(trainer, quality):
            waited += 1
            score = sign * value
            if score > best + self.change:
                best = score
                waited = 0
            if waited >= self.patience:
                return (
                    f"validation {quality.name} has not got better for {waited} epochs"
                )
        return None
