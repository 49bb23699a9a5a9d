"""The base of events."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ..trainer import Trainer

Ending = bool | str | None  # True, or the reason, ends the run


class Event:
    """Base of events: override what you need; what is not overridden is never called. No step's time holds an event.

    True or a text (the reason) from a hook ends the run; a run that is ended within an epoch is evaluated where it is.
    What decides by the trainer's history alone belongs in before_epoch: then a resumed run ends where an uninterrupted
    one does.
    """

    order: ClassVar[int] = (
        0  # events are told in this order: what writes numbers comes behind what makes them
    )

    def before_epoch(self, trainer: "Trainer", epoch: int) -> Ending:
        """Epoch `epoch` (from 0) is next."""

    def after_step(self, trainer: "Trainer", outputs: dict[str, Any]) -> Ending:
        """One step is done; the outputs are native, and converting them makes the run wait."""

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> Ending:
        """An epoch is done and evaluated."""

    def after_run(self, trainer: "Trainer") -> None:
        """The run is over, well or by an error."""

    def state(self) -> Mapping[str, Any]:
        """What a checkpoint keeps of this event, arrays and JSON values by name; nothing by default."""
        return {}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` gave, before a resumed run goes on."""
