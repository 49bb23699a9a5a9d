"""Stop at a loss that is not finite."""

import math
from typing import TYPE_CHECKING, Any

from .arguments import whole_number
from .event import Ending, Event

if TYPE_CHECKING:
    from ..trainer import Trainer


class NotFinite(Event):
    """Ends the run at the first loss that is infinite or not a number, even within an epoch.

    The trainer itself checks the losses only at the end of every epoch. This event reads the loss of every `every`-th
    step, since reading one waits for the device.
    """

    def __init__(self, every: int = 1):
        self.every = whole_number("NotFinite", "every", every)
        self.waited = 0

    def after_step(self, trainer: "Trainer", outputs: dict[str, Any]) -> Ending:
        self.waited += 1
        if self.waited < self.every:
            return None
        self.waited = 0
        loss = outputs[trainer.procedure.series["loss"]]
        value = float(trainer.procedure.framework.array(loss))
        if math.isfinite(value):
            return None
        trainer.convert_series()
        return trainer.divergence()
