"""What the evaluations of a run so far say about one quality."""

from typing import TYPE_CHECKING

from ...contracts.metric import quality_named
from ...contracts.task import Quality

if TYPE_CHECKING:
    from ..trainer import Trainer


def main_quality(trainer: "Trainer", name: str | None = None) -> Quality:
    """The quality of that name; the task's first if there is none."""
    qualities = {quality.name: quality for quality in trainer.task.qualities}
    return quality_named(name or trainer.task.qualities[0].name, qualities)


def validation_values(trainer: "Trainer", quality: Quality) -> list[float]:
    """Its values on validation data, one for each epoch."""
    return [record["validation"][quality.name] for record in trainer.evaluations]
