"""Sensors of energy, for the whole machine: processor packages (RAPL) and NVIDIA devices (NVML)."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

from ..machine.host import nvidia
from ..machine.host.files import HostFiles, Unavailable
from ..machine.host.nvml import Nvml
from .process import Reading, Sensor, attempt

POWERCAP = "/sys/class/powercap"
MOST_WATT = 1000.0  # of one package whose kernel does not tell its limit
PERIOD_S = 0.1  # in which the counters of NVIDIA's devices advance
LEAST_PERIODS = 20  # for an error of a twentieth at the most


class EnergyWindow(NamedTuple):
    """A time between two readings of energy counters."""

    seconds: float
    joule: float


class Package(NamedTuple):
    """One package's counter in microjoule, which starts again from 0 after `most`."""

    folder: str
    energy: int
    most: int
    watt: float


class PackageEnergy(Sensor):
    """Energy of all processor packages by their RAPL counters; everything that runs on them is counted."""

    def start(self) -> None:
        self.before: list[Package] | Unavailable
        try:
            folders = _packages(self.host)
            self.before = [_package(self.host, folder) for folder in folders]
        except Unavailable as reason:
            self.before = reason
        self.since = time.monotonic()

    def read(self) -> dict[str, Reading]:
        source = f"{POWERCAP}/intel-rapl:*, all packages"
        return {"energy_cpu": attempt(source, "J", "cost", self._joule)}

    def _joule(self) -> float:
        if isinstance(self.before, Unavailable):
            raise self.before
        elapsed = time.monotonic() - self.since
        microjoule = sum(self._used(package, elapsed) for package in self.before)
        return microjoule / 1e6

    def _used(self, package: Package, elapsed: float) -> int:
        if elapsed * package.watt * 1e6 >= package.most:
            joule = package.most / 1e6
            raise Unavailable(
                f"the counter may have started again more than once in {elapsed:.3g} s (it holds "
                f"{joule:g} J, the package may draw {package.watt:g} W): measure shorter blocks"
            )
        change = _energy(self.host, package.folder) - package.energy
        if change < 0:  # the counter has started again
            change += package.most
        return change


class GpuEnergy(Sensor):
    """Energy of the NVIDIA device that a run uses, or of all that it may see; whatever runs on them is counted.

    Their counters advance about every 100 ms: a window that is too short for that has no value.
    """

    def __init__(self, host: HostFiles, device: str | None = None) -> None:
        """`device` is a framework's word for one, such as "cuda:1"; None is every visible device."""
        super().__init__(host)
        self.device = device

    def start(self) -> None:
        self.nvml: Nvml | None = None
        self.before: dict[int, int] = {}  # the counters by device
        self.missing = Unavailable("the window has ended: start the sensor again")
        try:
            self.nvml = Nvml()
            devices = nvidia.used_devices(self.nvml, self.device)
            self.before = self._counters(self.nvml, devices)
        except Unavailable as reason:
            self.missing = reason
        self.since = time.monotonic()

    def read(self) -> dict[str, Reading]:
        subject = self.device or "all visible devices"
        source = f"NVML total energy consumption, {subject}"
        reading = attempt(source, "J", "cost", lambda: resolved([self.window()]))
        return {"energy_gpu": reading}

    def window(self) -> EnergyWindow:
        """What was used since the start, resolved by the counters or not; this ends the window."""
        nvml, self.nvml = self.nvml, None
        if nvml is None:
            raise self.missing
        with nvml:
            if not self.before:
                raise self.missing
            after = self._counters(nvml, list(self.before))
        seconds = time.monotonic() - self.since
        used = [after[device] - start for device, start in self.before.items()]
        if min(used) < 0:
            raise Unavailable(
                "an energy counter of NVML went back: the driver was loaded again"
            )
        return EnergyWindow(seconds, sum(used) / 1000)

    def _counters(self, nvml: Nvml, devices: list[int]) -> dict[int, int]:
        return {device: nvml.energy_mj(device) for device in devices}


def resolved(windows: Sequence[EnergyWindow]) -> float:
    """The energy of windows in joule; raises `Unavailable` if NVML's counters cannot resolve their time.

    The counter's error at the ends of a window grows with the root of their number, their time with the number itself.
    """
    seconds = sum(window.seconds for window in windows)
    needed = LEAST_PERIODS * PERIOD_S * math.sqrt(len(windows))
    if seconds < needed:
        raise Unavailable(
            f"NVML's counter advances about every {PERIOD_S:g} s, too rarely for {seconds:.3g} s: measure or repeat "
            f"for {needed:.3g} s or longer"
        )
    return sum(window.joule for window in windows)


def _packages(host: HostFiles) -> list[str]:
    """The folders of whole packages; others, such as `core` inside and `psys` around, would count twice."""
    packages = []
    for folder in host.glob(f"{POWERCAP}/intel-rapl:*"):
        if host.line(f"{folder}/name").startswith("package"):
            packages.append(folder)
    if not packages:
        raise Unavailable(
            f"{POWERCAP}: no package is listed (a virtual machine, or no RAPL driver)"
        )
    return packages


def _package(host: HostFiles, folder: str) -> Package:
    limit = f"{folder}/constraint_0_power_limit_uw"
    watt = 0.0
    if host.exists(limit):
        watt = host.number(limit) / 1e6
    most = host.number(f"{folder}/max_energy_range_uj")
    energy = _energy(host, folder)
    return Package(folder=folder, energy=energy, most=most, watt=watt or MOST_WATT)


def _energy(host: HostFiles, folder: str) -> int:
    path = f"{folder}/energy_uj"
    try:
        return host.number(path)
    except Unavailable as reason:
        if "Permission denied" in str(reason):
            raise Unavailable(f"{reason} (sudo chmod a+r {path})") from None
        raise
