"""Write the numbers of a run to a CSV file."""

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

    The row of the last step of an epoch also has the qualities on validation data, and the series with one number per
    epoch. Series of any other length are left out, since their numbers cannot be assigned to steps. Rows are appended
    after every epoch; a resumed run rewrites the whole file.
    """

    order = 1

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.columns: list[str] = []  # in the file; empty before it is written
        self.written = 0  # the number of steps in the file

    def before_epoch(self, trainer: "Trainer", epoch: int) -> None:
        check_writable(self.path)

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        columns = self._columns(trainer)
        rewrite = columns != self.columns or trainer.steps < self.written
        mode = "a"
        if rewrite:
            mode = "w"
            self.columns = columns
            self.written = 0
        try:
            with open(self.path, mode, newline="", encoding="utf-8") as file:
                table = csv.writer(file)
                if rewrite:
                    table.writerow(columns)
                table.writerows(self._rows(trainer))
        except OSError as error:
            raise Deep500Error(
                f"{self.path} cannot be written: {one_line(error)}"
            ) from None
        self.written = trainer.steps

    def after_run(self, trainer: "Trainer") -> None:
        # the next run writes its own table
        self.columns = []
        self.written = 0

    def _columns(self, trainer: "Trainer") -> list[str]:
        qualities = [f"validation {quality.name}" for quality in trainer.task.qualities]
        return ["step", *_placed_series(trainer), *qualities]

    def _rows(self, trainer: "Trainer") -> Iterator[list[Any]]:
        series = _placed_series(trainer).values()
        qualities_by_step = {}
        for record in trainer.evaluations:
            qualities_by_step[record["step"]] = record["validation"]
        for step in range(self.written + 1, trainer.steps + 1):
            row: list[Any] = [step]
            for numbers in series:
                row.append(numbers.get(step, ""))
            qualities = qualities_by_step.get(step, {})
            for quality in trainer.task.qualities:
                row.append(qualities.get(quality.name, ""))
            yield row


def _placed_series(trainer: "Trainer") -> dict[str, dict[int, float]]:
    """The numbers of a series by step, for every series with one number per step or per epoch."""
    last_steps = [record["step"] for record in trainer.evaluations]
    placed = {}
    for name, numbers in trainer.series.items():
        if len(numbers) == trainer.steps:
            placed[name] = dict(enumerate(numbers, 1))
        elif len(numbers) == len(last_steps):
            placed[name] = dict(zip(last_steps, numbers, strict=True))
    return placed
