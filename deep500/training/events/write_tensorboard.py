"""Write the numbers of a run for TensorBoard."""

import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import Deep500Error, one_line
from ..event_file import file_version, framed, scalar
from .event import Event

if TYPE_CHECKING:
    from ..trainer import Trainer


class WriteTensorboard(Event):
    """Writes every series step by step, and the qualities after every epoch, into an event file in `folder`."""

    order = 1

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.path: Path | None = None  # None outside of a run
        # how many numbers of each series are in the file
        self.written: dict[str, int] = {}

    def before_epoch(self, trainer: "Trainer", epoch: int) -> None:
        if self.path is not None:
            return
        self.path = self.folder / _file_name()
        self.written = {}
        for name, numbers in trainer.series.items():
            self.written[name] = len(numbers)
        self._append([file_version(time.time())])

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        now = time.time()
        events = []
        for name, numbers in trainer.series.items():
            begin = self.written.get(name, 0)
            new_steps = _steps_of(trainer, numbers)[begin:]
            new_numbers = numbers[begin:]
            for step, number in zip(new_steps, new_numbers, strict=True):
                events.append(scalar(now, step, f"train/{name}", number))
            self.written[name] = len(numbers)
        for name, value in record["validation"].items():
            events.append(scalar(now, record["step"], f"validation/{name}", value))
        self._append(events)

    def after_run(self, trainer: "Trainer") -> None:
        if self.path is not None and trainer.evaluations:
            self._append_test(trainer.evaluations[-1])
        self.path = None

    def _append_test(self, record: dict[str, Any]) -> None:
        """Append the qualities on test data, if they were evaluated."""
        if not record.get("test"):
            return
        now = time.time()
        events = []
        for name, value in record["test"].items():
            events.append(scalar(now, record["step"], f"test/{name}", value))
        self._append(events)

    def _append(self, events: list[bytes]) -> None:
        assert self.path is not None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(self.path, "ab") as file:
                file.write(b"".join(map(framed, events)))
        except OSError as error:
            raise Deep500Error(
                f"{self.path} cannot be written: {one_line(error)}"
            ) from None


def _steps_of(trainer: "Trainer", numbers: list[float]) -> list[int]:
    """The steps to which the numbers of a series belong: every step, or the last one of each epoch."""
    last_steps = [record["step"] for record in trainer.evaluations]
    if len(numbers) == len(last_steps) != trainer.steps:
        return last_steps
    return [*range(1, len(numbers) + 1)]


def _file_name() -> str:
    """A name that TensorBoard recognises; the clock in nanoseconds keeps the files of several runs apart."""
    nanoseconds = time.time_ns()
    host = socket.gethostname()
    return f"events.out.tfevents.{nanoseconds}.{host}.{os.getpid()}"
