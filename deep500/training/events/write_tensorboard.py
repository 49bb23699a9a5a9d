"""The numbers of a run for TensorBoard."""

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
        self.path: Path | None = None  # of this run, once it has one
        self.written: dict[str, int] = {}  # numbers of each series

    def before_epoch(self, trainer: "Trainer", epoch: int) -> None:
        if self.path is None:
            self.path = self.folder / _file_name()
            self.written = {
                name: len(numbers) for name, numbers in trainer.series.items()
            }
            self._append([file_version(time.time())])

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        now = time.time()
        events = []
        for name, numbers in trainer.series.items():
            begin = self.written.get(name, 0)
            steps = _steps_of(trainer, numbers)
            for step, number in zip(steps[begin:], numbers[begin:], strict=True):
                events.append(scalar(now, step, f"train/{name}", number))
            self.written[name] = len(numbers)
        for name, value in record["validation"].items():
            events.append(scalar(now, record["step"], f"validation/{name}", value))
        self._append(events)

    def after_run(self, trainer: "Trainer") -> None:
        last = trainer.evaluations[-1] if trainer.evaluations else {}
        if self.path is not None and last.get("test"):
            now = time.time()
            tests = last["test"].items()
            self._append(
                [scalar(now, last["step"], f"test/{name}", v) for name, v in tests]
            )
        self.path = None

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
    """The steps that the numbers of a series belong to; of one number for each epoch, the last step of each."""
    epochs = [record["step"] for record in trainer.evaluations]
    if len(numbers) == len(epochs) != trainer.steps:
        return epochs
    return [*range(1, len(numbers) + 1)]


def _file_name() -> str:
    """As TensorBoard expects it; the clock in nanoseconds keeps the files of several runs apart."""
    return f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}.{os.getpid()}"
