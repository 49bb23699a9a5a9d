"""A machine's measured peaks as a value, and the file that keeps them."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import Deep500Error
from ..machine.host import cgroups, compute, software
from ..machine.host.files import Host, Unavailable
from ..sensing.others import BUSY, allowed_cpus
from .peak_kernels import Peak

PROCEDURE = 2  # raise it when the kernels change: older files are then measured again
THREAD_SETTINGS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
)
LIMIT = 100_000  # bytes; a file has about two thousand
TOLERANCE = 0.05  # by which one peak may lie below another that it cannot lie below


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
        """The most that others used of the CPUs while one of the peaks was measured; None if it is not known."""
        known = [peak.others for peak in self.all if peak.others is not None]
        return max(known, default=None)

    @property
    def caveat(self) -> str:
        """What has to be said wherever these peaks are used; empty for those of a quiet moment."""
        busy = ""
        if self.others is not None and self.others > BUSY:
            busy = (
                f"the peaks were measured while others used up to {100 * self.others:.0f} % of the CPUs: the true ones "
                "may be higher, renew them with `d5 doctor --peaks` when nothing else runs"
            )
        return "; ".join(filter(None, [self.note, busy]))


def better(old: Peaks | None, new: Peaks) -> Peaks:
    """The best of two measurements, peak by peak."""
    if old is None:
        return new
    flops = dict(new.flops)
    for dtype, peak in old.flops.items():
        flops[dtype] = _better(peak, flops[dtype]) if dtype in flops else peak
    return replace(new, flops=flops, bandwidth=_better(old.bandwidth, new.bandwidth))


def _better(old: Peak, new: Peak) -> Peak:
    """The higher one, for it was reached; in a moment as quiet as the quieter of the two."""
    higher = new if new.value >= old.value else old
    quiet = [peak.others for peak in (old, new) if peak.others is not None]
    return replace(higher, others=min(quiet, default=None))


def contradiction(flops: dict[str, Peak]) -> str:
    """Why the peak of float32 cannot be right, if it cannot: no machine computes twice as many bits faster."""
    if not {"float32", "float64"} <= set(flops):
        return ""
    single, double = flops["float32"], flops["float64"]
    if single.value >= double.value * (1 - TOLERANCE):
        return ""
    said = f"{single.value / 1e9:.3g} GFLOP/s in float32 contradicts {double.value / 1e9:.3g} in float64"
    used = (
        f", others used {100 * single.others:.0f} % of the CPUs"
        if single.others is not None
        else ""
    )
    return f"{said}{used}"


def this_machine(seconds: float) -> dict[str, str]:
    """What the peaks depend on: another value of any of these, and they are measured again."""
    host = Host()

    def known(probe: Callable[[Host], object]) -> str:
        try:
            return str(probe(host))
        except Unavailable as error:
            return f"unknown ({error})"

    found = {
        "cpu": known(compute.cpu_model),
        "stepping": known(compute.cpu_stepping),
        "cpus allowed": str(len(allowed_cpus())),
        "cpu quota": known(cgroups.cpu_quota),
        "numpy": known(software.package("numpy")),
        "blas": known(software.numpy_blas),
        "seconds": f"{seconds:g}",
        "procedure": str(PROCEDURE),
    }
    return found | {name: known(software.variable(name)) for name in THREAD_SETTINGS}


def file_name(machine: dict[str, str]) -> str:
    return (
        hashlib.sha256(json.dumps(machine, sort_keys=True).encode()).hexdigest()[:16]
        + ".json"
    )


def read_peaks(path: Path, machine: dict[str, str]) -> Peaks | None:
    """The peaks in a file that was written for `machine`; None for any other file."""
    try:
        with open(path, "rb") as file:
            data = json.loads(file.read(LIMIT))
        return _peaks(data) if data["machine"] == machine else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None  # absent, damaged or of another format: measuring again is the remedy for all of them


def peaks_from_json(data: Any) -> Peaks:
    """The peaks that somebody recorded, who may be anyone."""
    try:
        return _peaks(data)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise Deep500Error(
            "plan.json: the peaks of the machine do not have their form"
        ) from None


def _peaks(data: Any) -> Peaks:
    flops = {str(dtype): _peak(fields) for dtype, fields in data["flops"].items()}
    machine = {str(name): str(value) for name, value in data["machine"].items()}
    return Peaks(
        flops,
        _peak(data["bandwidth"]),
        machine,
        str(data["measured"]),
        str(data["note"]),
    )


def _peak(fields: Any) -> Peak:
    peak = Peak(**fields)
    numbers = [
        peak.value,
        peak.median,
        *([peak.low, peak.high] if peak.low is not None else []),
    ]
    if not all(
        isinstance(number, float) and 0 < number < math.inf for number in numbers
    ):
        raise ValueError("a peak is a number above 0")
    if peak.median is not None and peak.median > peak.value:
        raise ValueError("the best of some values is not below their median")
    if peak.others is not None and not (
        isinstance(peak.others, float) and 0 <= peak.others <= 1
    ):
        raise ValueError("others use a share of the CPUs")
    if not isinstance(peak.n, int) or not all(
        isinstance(text, str)
        for text in (peak.unit, peak.what, peak.note, peak.measured)
    ):
        raise ValueError("a peak has a count, a unit and a description")
    return peak


def write_peaks(path: Path, peaks: Peaks) -> None:
    """Write all of it or nothing, for several processes may measure at once."""
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
