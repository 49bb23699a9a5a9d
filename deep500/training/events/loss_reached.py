"""Stop when the training loss reaches its target."""

from statistics import fmean
from typing import TYPE_CHECKING

from .arguments import finite
from .event import Ending, Event

if TYPE_CHECKING:
    from ..trainer import Trainer


class LossReached(Event):
    """Ends the run after an epoch whose mean training loss is at most `target`."""

    def __init__(self, target: float):
        self.target = finite("LossReached", "target", target)

    def before_epoch(self, trainer: "Trainer", epoch: int) -> Ending:
        begin = 0
        for record in trainer.evaluations:
            losses = trainer.series["loss"][begin : record["step"]]
            begin = record["step"]
            if losses and fmean(losses) <= self.target:
                return f"the training loss has reached {self.target:g}"
        return None
