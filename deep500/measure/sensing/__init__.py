"""What a block of code costs: time, memory, bytes, switches, energy, each read before and after only."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from ...errors import Deep500Error
from ..machine.host.files import HostFiles
from .conditions import GpuSensor
from .energy import GpuEnergy, PackageEnergy
from .process import (
    Bytes,
    Cores,
    MemorySensor,
    Reading,
    Sensor,
    Switches,
    Time,
)

__all__ = ["Reading", "Sensors", "sensors"]

# Started from first to last and read from last to first: time is the innermost, and no bytes are ours.
SENSORS: tuple[type[Sensor], ...] = (
    GpuSensor,
    GpuEnergy,
    PackageEnergy,
    MemorySensor,
    Cores,
    Bytes,
    Switches,
    Time,
)


class Sensors:
    """A block under observation; ask for its readings when it has ended."""

    def __init__(self, host: HostFiles) -> None:
        self._sensors = [kind(host) for kind in SENSORS]
        self._readings: dict[str, Reading] | None = None

    def __enter__(self) -> Sensors:
        self._readings = None
        for sensor in self._sensors:
            sensor.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Nothing but reading, until all are read: what is done between would be part of the readings.
        parts = [sensor.read() for sensor in reversed(self._sensors)]
        self._readings = {}
        for part in parts:
            self._readings |= part

    def readings(self) -> dict[str, Reading]:
        """Every quantity by name, with its source, or None with the reason."""
        if self._readings is None:
            raise Deep500Error(
                "Readings were asked for before the block ended; ask below the `with` block."
            )
        return self._readings


def sensors(_root: Path = Path("/")) -> Sensors:
    """Observe a block: `with sensors() as s: ...`, then `s.readings()`."""
    return Sensors(HostFiles(_root))
