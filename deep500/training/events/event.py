"""The base class of events."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ..trainer import Trainer

Ending = bool | str | None  # True, or the reason, ends the run


class Event:
    """Base class of events: override the hooks you need; the others are never called. Steps are timed without events.

    A hook ends the run by returning True or a string (the reason); a run that ends within an epoch is evaluated at that
    point. Decisions that depend on the trainer's history alone belong in before_epoch: then a resumed run ends where an
    uninterrupted one does.
    """

    # hooks are called in this order: an event that writes numbers comes after those that produce them
    order: ClassVar[int] = 0

    def before_epoch(self, trainer: "Trainer", epoch: int) -> Ending:
        """Called before epoch `epoch` (from 0)."""

    def after_step(self, trainer: "Trainer", outputs: dict[str, Any]) -> Ending:
        """Called after a step; the outputs are native tensors, and converting them waits for the device."""

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> Ending:
        """Called after an epoch and its evaluation."""

    def after_run(self, trainer: "Trainer") -> None:
        """Called at the end of the run, even if it failed."""

    def state(self) -> Mapping[str, Any]:
        """The state that a checkpoint saves for this event, arrays and JSON values by name; nothing by default."""
        return {}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned, before a resumed run continues."""
