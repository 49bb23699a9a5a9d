"""Stop when the time is up."""

import math
from typing import TYPE_CHECKING, Any

from .arguments import positive
from .event import Ending, Event

if TYPE_CHECKING:
    from ..trainer import Trainer


class TimeLimit(Event):
    """Ends the run at the first step after `seconds` of training, as its steps are timed."""

    def __init__(self, seconds: float):
        self.seconds = positive("TimeLimit", "seconds", seconds)
        self.spent = 0.0

    def before_epoch(self, trainer: "Trainer", epoch: int) -> Ending:
        self.spent = math.fsum(trainer.series["seconds"])
        return self._ending()

    def after_step(self, trainer: "Trainer", outputs: dict[str, Any]) -> Ending:
        self.spent += trainer.series["seconds"][-1]
        return self._ending()

    def _ending(self) -> Ending:
        if self.spent < self.seconds:
            return None
        return f"the limit of {self.seconds:g} s of training is reached"
