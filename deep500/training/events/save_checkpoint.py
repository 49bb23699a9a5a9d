"""Save checkpoints to disk."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..checkpoint import save_checkpoint
from .arguments import check_writable, whole_number
from .event import Event

if TYPE_CHECKING:
    from ..trainer import Trainer


class SaveCheckpoint(Event):
    """Saves one checkpoint, which is replaced after every epoch, and with `every` also after that many steps."""

    order = 2  # a checkpoint contains the states of the other events

    def __init__(self, path: str | Path, every: int | None = None):
        self.path = Path(path)
        self.every = every
        if every is not None:
            whole_number("SaveCheckpoint", "every", every)

    def before_epoch(self, trainer: "Trainer", epoch: int) -> None:
        check_writable(self.path)

    def after_step(self, trainer: "Trainer", outputs: dict[str, Any]) -> None:
        if self.every and trainer.steps % self.every == 0:
            save_checkpoint(self.path, trainer.checkpoint())

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        save_checkpoint(self.path, trainer.checkpoint())
