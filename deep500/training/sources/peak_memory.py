"""Measures the peak memory of this process over all epochs."""

from typing import TYPE_CHECKING, Any

from ...contracts.executor import Executor
from ...errors import Deep500Error
from ...measure.machine.host.files import HostFiles
from ...measure.sensing.process import MemorySensor, Reading
from ..events import Event

if TYPE_CHECKING:
    from ..trainer import Trainer


class MemoryCounter(Event):
    """Keeps the largest peak of all epochs, evaluation included, in the counter "peak memory"."""

    def __init__(self, host: HostFiles):
        self.sensor = MemorySensor(host)

    def before_epoch(self, trainer: "Trainer", epoch: int) -> None:
        self.sensor.start()

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        peak = self.reading().value or 0.0
        before = trainer.counters.get("peak memory", 0.0)
        trainer.counters["peak memory"] = max(peak, before)

    def reading(self) -> Reading:
        return self.sensor.read()["memory_peak"]


def peak_memory(
    executor: Executor, batch_size: int, host: HostFiles | None = None
) -> MemoryCounter:
    """The counter of peak memory. Raises `Deep500Error` with the reason if the system does not tell it."""
    counter = MemoryCounter(host or HostFiles())
    counter.sensor.start()
    reading = counter.reading()
    if reading.value is None:
        raise Deep500Error(f"no peak memory: {reading.unavailable}")
    return counter
