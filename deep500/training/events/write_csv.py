"""The numbers of a run as a table."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import Deep500Error, one_line
from .arguments import check_writable
from .event import Event

if TYPE_CHECKING:
    from ..trainer import Trainer


class WriteCsv(Event):
    """Writes a row for each step: its number and every series of the history ("loss", "seconds", "batch" …).

    The last step of an epoch also has the qualities on validation data, and the series that have a number for each
    epoch. A series of any other length cannot be told to which steps it belongs, and is left out. Rows are added after
    every epoch; a resumed run writes the file anew, whole.
    """

    order = 1

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.columns: list[str] = []  # of the file, once it is begun
        self.written = 0  # steps

    def before_epoch(self, trainer: "Trainer", epoch: int) -> None:
        check_writable(self.path)

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        columns = self._columns(trainer)
        anew = columns != self.columns or trainer.steps < self.written
        if anew:
            self.columns, self.written = columns, 0
        try:
            with open(
                self.path, "w" if anew else "a", newline="", encoding="utf-8"
            ) as file:
                table = csv.writer(file)
                if anew:
                    table.writerow(columns)
                table.writerows(self._rows(trainer))
        except OSError as error:
            raise Deep500Error(
                f"{self.path} cannot be written: {one_line(error)}"
            ) from None
        self.written = trainer.steps

    def after_run(self, trainer: "Trainer") -> None:
        self.columns, self.written = [], 0  # the next run has a table of its own

    def _columns(self, trainer: "Trainer") -> list[str]:
        qualities = [f"validation {quality.name}" for quality in trainer.task.qualities]
        return ["step", *_placed_series(trainer), *qualities]

    def _rows(self, trainer: "Trainer") -> Iterator[list[Any]]:
        series = _placed_series(trainer).values()
        evaluated = {
            record["step"]: record["validation"] for record in trainer.evaluations
        }
        names = [quality.name for quality in trainer.task.qualities]
        for step in range(self.written, trainer.steps):
            numbers = [values.get(step + 1, "") for values in series]
            qualities = evaluated.get(step + 1, {})
            yield [step + 1, *numbers, *(qualities.get(name, "") for name in names)]


def _placed_series(trainer: "Trainer") -> dict[str, dict[int, float]]:
    """The numbers of every series by step, for series with a number for each step or for each epoch."""
    epochs = [record["step"] for record in trainer.evaluations]
    placed = {}
    for name, numbers in trainer.series.items():
        if len(numbers) == trainer.steps:
            placed[name] = dict(enumerate(numbers, 1))
        elif len(numbers) == len(epochs):
            placed[name] = dict(zip(epochs, numbers, strict=True))
    return placed
