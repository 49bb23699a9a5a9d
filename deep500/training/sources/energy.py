"""Measures the energy of the processors and of the device that a run uses in joules, epoch by epoch."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...contracts.device import HOST, DeviceInfo
from ...contracts.executor import Executor
from ...errors import Deep500Error
from ...measure.machine.host.files import HostFiles, Unavailable
from ...measure.sensing.energy import EnergyWindow, GpuEnergy, PackageEnergy, resolved
from ..events import Event

if TYPE_CHECKING:
    from ..trainer import Trainer


class EnergyCounter(Event):
    """Adds the energy of every epoch, evaluation included, to the counter "energy".

    Epochs that are too short for a device's counter count together; while all of them still are, there is no counter.
    """

    def __init__(self, host: HostFiles, device: str = HOST):
        """`device` is where the run computes: only this device of an accelerator is counted."""
        self.packages = PackageEnergy(host)
        self.gpu: GpuEnergy | None = None
        if DeviceInfo(device).kind != HOST:
            self.gpu = GpuEnergy(host, device)
        self._windows: list[EnergyWindow] = []
        self._packages_joule = 0.0
        self._before: float | None = None

    def before_epoch(self, trainer: "Trainer", epoch: int) -> None:
        if self._before is None:
            self._before = trainer.counters.get("energy", 0.0)
        self.start()

    def start(self) -> None:
        if self.gpu is not None:
            self.gpu.start()
        self.packages.start()

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        (packages,) = self.packages.read().values()
        self._packages_joule += packages.value or 0.0
        joule = (self._before or 0.0) + self._packages_joule
        trainer.counters.pop("energy", None)
        with suppress(Unavailable):
            trainer.counters["energy"] = joule + self._gpu_joule()

    def _gpu_joule(self) -> float:
        """The energy of the device in all epochs so far; raises `Unavailable` if its counter does not resolve them."""
        if self.gpu is None:
            return 0.0
        self._windows.append(self.gpu.window())
        return resolved(self._windows)

    def missing(self) -> list[str]:
        """Why there is no counter for what the run uses; empty if there is one for each."""
        self.start()
        reasons = []
        (packages,) = self.packages.read().values()
        if packages.value is None:
            reasons.append(str(packages.unavailable))
        if self.gpu is None:
            return reasons
        try:
            self.gpu.window()
        except Unavailable as reason:
            return [*reasons, str(reason)]
        return []  # the device's, which uses the most


def energy(
    executor: Executor, batch_size: int, host: HostFiles | None = None
) -> EnergyCounter:
    """The counter of the energy that the run's devices use. Raises `Deep500Error` with the reasons if there is none."""
    counter = EnergyCounter(host or HostFiles(), executor.framework.device)
    reasons = counter.missing()
    if reasons:
        raise Deep500Error(f"no sensor of energy: {'; '.join(reasons)}")
    return counter
