"""A machine's measured peaks as a value, and the file that keeps them."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...errors import Deep500Error
from ..machine.host import cgroups, compute, software
from ..machine.host.files import Host, Unavailable
from .peak_kernels import Peak, allowed_cpus

PROCEDURE = 1  # raise it when the kernels change: older files are then measured again
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
LIMIT = 100_000  # bytes; a file has about two thousand


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
    return hashlib.sha256(json.dumps(machine, sort_keys=True).encode()).hexdigest()[:16] + ".json"


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
        raise Deep500Error("plan.json: the peaks of the machine do not have their form") from None


def _peaks(data: Any) -> Peaks:
    flops = {str(dtype): _peak(fields) for dtype, fields in data["flops"].items()}
    machine = {str(name): str(value) for name, value in data["machine"].items()}
    return Peaks(flops, _peak(data["bandwidth"]), machine, str(data["measured"]), str(data["note"]))


def _peak(fields: Any) -> Peak:
    peak = Peak(**fields)
    numbers = [peak.value, peak.median, *([peak.low, peak.high] if peak.low is not None else [])]
    if not all(isinstance(number, float) and 0 < number < math.inf for number in numbers):
        raise ValueError("a peak is a number above 0")
    if not isinstance(peak.n, int) or not all(
        isinstance(text, str) for text in (peak.unit, peak.what, peak.note)
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
