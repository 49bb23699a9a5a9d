"""A machine's measured peaks as a value, and the file that keeps them."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import Deep500Error
from ...schema import decoded
from ..machine.host import cgroups, compute, software
from ..machine.host.files import HostFiles, Unavailable
from ..sensing.others import BUSY, allowed_cpus
from .peak_kernels import Peak

# raise it when the kernels change: older files are then measured again
PROCEDURE = 2
THREAD_SETTINGS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
)
LIMIT = 100_000  # bytes; a file has about two thousand
# by which one peak may lie below another that it cannot lie below
TOLERANCE = 0.05


@dataclass(frozen=True)
class Peaks:
    """The peaks of one machine: flop/s by dtype, B/s to and from memory, and the settings they hold for."""

    flops: dict[str, Peak]
    bandwidth: Peak
    machine: dict[str, str]
    measured: str = ""
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """A dictionary that `json.dumps` takes as it is."""
        return asdict(self)

    @property
    def all(self) -> list[Peak]:
        return [*self.flops.values(), self.bandwidth]

    @property
    def others(self) -> float | None:
        """The largest share of the CPUs that other processes used during a measurement; None if it is unknown."""
        shares = [peak.others for peak in self.all if peak.others is not None]
        return max(shares, default=None)

    @property
    def caveat(self) -> str:
        """A warning to show wherever these peaks are used; empty if the machine was quiet."""
        if self.others is None or self.others <= BUSY:
            return self.note
        used = f"{100 * self.others:.0f} %"
        busy = (
            f"the peaks were measured while others used up to {used} of the CPUs: the true ones "
            "may be higher, renew them with `d5 doctor --peaks` when nothing else runs"
        )
        if self.note:
            return f"{self.note}; {busy}"
        return busy


def better(old: Peaks | None, new: Peaks) -> Peaks:
    """The best of two measurements, peak by peak."""
    if old is None:
        return new
    flops = dict(new.flops)
    for dtype, peak in old.flops.items():
        if dtype in flops:
            flops[dtype] = _better(peak, flops[dtype])
        else:
            flops[dtype] = peak
    bandwidth = _better(old.bandwidth, new.bandwidth)
    return replace(new, flops=flops, bandwidth=bandwidth)


def _better(old: Peak, new: Peak) -> Peak:
    """The higher of two peaks, as it was reached, with the smaller share of the CPUs that others used."""
    higher = new if new.value >= old.value else old
    quiet = [peak.others for peak in (old, new) if peak.others is not None]
    return replace(higher, others=min(quiet, default=None))


def contradiction(flops: dict[str, Peak]) -> str:
    """Why the peak of float32 must be wrong (it is below that of float64), or an empty text."""
    if not {"float32", "float64"} <= set(flops):
        return ""
    single = flops["float32"]
    double = flops["float64"]
    if single.value >= double.value * (1 - TOLERANCE):
        return ""
    float32 = f"{single.value / 1e9:.3g}"
    float64 = f"{double.value / 1e9:.3g}"
    reason = f"{float32} GFLOP/s in float32 contradicts {float64} in float64"
    if single.others is None:
        return reason
    percent = f"{100 * single.others:.0f} %"
    return f"{reason}, others used {percent} of the CPUs"


def this_machine(seconds: float) -> dict[str, str]:
    """The settings that the peaks depend on; when any of them changes, the peaks are measured again."""
    host = HostFiles()

    def fact(probe: Callable[[HostFiles], object]) -> str:
        try:
            return str(probe(host))
        except Unavailable as error:
            return f"unknown ({error})"

    machine = {
        "cpu": fact(compute.cpu_model),
        "stepping": fact(compute.cpu_stepping),
        "cpus allowed": str(len(allowed_cpus())),
        "cpu quota": fact(cgroups.cpu_quota),
        "numpy": fact(software.package("numpy")),
        "blas": fact(software.numpy_blas),
        "seconds": f"{seconds:g}",
        "procedure": str(PROCEDURE),
    }
    for name in THREAD_SETTINGS:
        machine[name] = fact(software.variable(name))
    return machine


def file_name(machine: dict[str, str]) -> str:
    text = json.dumps(machine, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{digest[:16]}.json"


def read_peaks(path: Path, machine: dict[str, str]) -> Peaks | None:
    """The peaks in a file that was written for `machine`; None for any other file."""
    try:
        with open(path, "rb") as file:
            data = json.loads(file.read(LIMIT))
        peaks = decoded(Peaks, data, str(path))
    except (OSError, ValueError, RecursionError, Deep500Error):
        return None  # absent, damaged or of another format: measuring again is the remedy for all of them
    return peaks if peaks.machine == machine else None


def peaks_from_json(data: object) -> Peaks:
    """The peaks recorded in a plan, which may come from anyone; raises a Deep500Error if they are malformed."""
    return decoded(Peaks, data, "plan.json: the peaks of the machine")


def write_peaks(path: Path, peaks: Peaks) -> None:
    """Write the file atomically, because several processes may measure at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, temporary = tempfile.mkstemp(prefix=".peaks-", dir=path.parent)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(peaks.to_json(), file, indent=1, allow_nan=False)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
