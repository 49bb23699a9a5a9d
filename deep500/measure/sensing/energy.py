"""Sensors of energy, for the whole machine: processor packages (RAPL) and NVIDIA devices (NVML)."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from ..machine.host import nvidia
from ..machine.host.files import HostFiles, Unavailable
from .process import Reading, Sensor, attempt

POWERCAP = "/sys/class/powercap"
MOST_WATT = 1000.0  # of one package whose kernel does not tell its limit


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
    """Energy of all NVIDIA devices; everything that runs on them is counted."""

    def start(self) -> None:
        self.library: Any = None
        self.before: list[int] | Unavailable
        try:
            self.library = nvidia.open_library()
            self.before = nvidia.energy_mj(self.library)
        except Unavailable as reason:
            self.before = reason

    def read(self) -> dict[str, Reading]:
        source = "NVML total energy consumption, all devices"
        reading = attempt(source, "J", "cost", self._joule)
        if self.library is not None:
            self.library.nvmlShutdown()
        return {"energy_gpu": reading}

    def _joule(self) -> float:
        if isinstance(self.before, Unavailable):
            raise self.before
        after = nvidia.energy_mj(self.library)
        if not after:
            raise Unavailable("NVML lists no device")
        if len(after) != len(self.before):
            raise Unavailable(
                f"NVML listed {len(self.before)} devices before and {len(after)} after"
            )
        pairs = zip(self.before, after, strict=True)
        used = [end - start for start, end in pairs]
        if min(used) < 0:
            raise Unavailable(
                "an energy counter of NVML went back: the driver was loaded again"
            )
        return sum(used) / 1000


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
