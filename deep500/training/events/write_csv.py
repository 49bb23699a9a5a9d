"""The numbers of a run as a table."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import Deep500Error, one_line
from .event import Event

if TYPE_CHECKING:
    from ..trainer import Trainer


class WriteCsv(Event):
    """Writes a row for each step: its number and every series of the history ("loss", "seconds", "batch" …).

    The last step of an epoch also has the qualities on validation data. Rows are added after every epoch; a resumed
    run writes the file anew, whole.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.columns: list[str] = []  # of the file, once it is begun
        self.written = 0  # steps

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        columns = self._columns(trainer)
        anew = columns != self.columns or trainer.steps < self.written
        if anew:
            self.columns, self.written = columns, 0
        try:
            with open(self.path, "w" if anew else "a", newline="", encoding="utf-8") as file:
                table = csv.writer(file)
                if anew:
                    table.writerow(columns)
                table.writerows(self._rows(trainer))
        except OSError as error:
            raise Deep500Error(f"{self.path} cannot be written: {one_line(error)}") from None
        self.written = trainer.steps

    def after_run(self, trainer: "Trainer") -> None:
        self.columns, self.written = [], 0  # the next run has a table of its own

    def _columns(self, trainer: "Trainer") -> list[str]:
        qualities = [f"validation {quality.name}" for quality in trainer.task.qualities]
        return ["step", *trainer.series, *qualities]

    def _rows(self, trainer: "Trainer") -> Iterator[list[Any]]:
        series = trainer.series.values()
        evaluated = {record["step"]: record["validation"] for record in trainer.evaluations}
        names = [quality.name for quality in trainer.task.qualities]
        for step in range(self.written, trainer.steps):
            numbers = [values[step] if step < len(values) else "" for values in series]
            qualities = evaluated.get(step + 1, {})
            yield [step + 1, *numbers, *(qualities.get(name, "") for name in names)]
