"""The values of one quality in the evaluations of a run so far."""

from typing import TYPE_CHECKING

from ...contracts.metric import quality_named
from ...contracts.task import Quality

if TYPE_CHECKING:
    from ..trainer import Trainer


def main_quality(trainer: "Trainer", name: str | None = None) -> Quality:
    """The quality of that name, by default the task's first; raises a Deep500Error if there is no such quality."""
    task = trainer.task
    qualities = {quality.name: quality for quality in task.qualities}
    if not name:
        name = task.qualities[0].name
    return quality_named(name, qualities)


def validation_values(trainer: "Trainer", quality: Quality) -> list[float]:
    """The values of a quality on validation data, one for each epoch."""
    return [record["validation"][quality.name] for record in trainer.evaluations]
