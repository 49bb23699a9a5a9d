"""Measures the energy of the whole machine in joules, epoch by epoch."""

from typing import TYPE_CHECKING, Any

from ...contracts.executor import Executor
from ...errors import Deep500Error
from ...measure.machine.host.files import HostFiles
from ...measure.sensing.energy import GpuEnergy, PackageEnergy
from ...measure.sensing.process import Reading, Sensor
from ..events import Event

if TYPE_CHECKING:
    from ..trainer import Trainer


class EnergyCounter(Event):
    """Adds the energy of every epoch, evaluation included, to the counter "energy"."""

    def __init__(self, host: HostFiles):
        self.sensors: list[Sensor] = [PackageEnergy(host), GpuEnergy(host)]

    def before_epoch(self, trainer: "Trainer", epoch: int) -> None:
        for sensor in self.sensors:
            sensor.start()

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        joules = sum(reading.value or 0.0 for reading in self.readings())
        before = trainer.counters.get("energy", 0.0)
        trainer.counters["energy"] = before + joules

    def readings(self) -> list[Reading]:
        """The readings of all sensors since they were started."""
        readings: list[Reading] = []
        for sensor in self.sensors:
            readings += sensor.read().values()
        return readings


def energy(
    executor: Executor, batch_size: int, host: HostFiles | None = None
) -> EnergyCounter:
    """The counter of the machine's energy. Raises `Deep500Error` with the reasons if there is no sensor."""
    counter = EnergyCounter(host or HostFiles())
    for sensor in counter.sensors:
        sensor.start()
    readings = counter.readings()
    if all(reading.value is None for reading in readings):
        reasons = "; ".join(str(reading.unavailable) for reading in readings)
        raise Deep500Error(f"no sensor of energy: {reasons}")
    return counter
