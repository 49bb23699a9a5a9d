"""Upper bounds of performance (SC'15, Rule 11): measured peaks, the roofline over them, and scaling lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import perf_counter
from typing import Literal

from ...errors import Deep500Error, Unsupported
from ...home import home
from .peak_cache import (
    Peaks,
    file_name,
    read_peaks,
    this_machine,
    write_peaks,
)
from .peak_kernels import (
    allowed_cpus,
    bandwidth_peak,
    busy_seconds,
    gemm_peak,
)

DTYPES = ("float32", "float64")
BUSY = 0.05  # of the CPUs: what others may use before a measurement of the peaks says so
AGAIN = "the true peaks may be higher, use peaks(refresh=True) when nothing else runs"
SUPERLINEAR = 0.05  # speed-ups up to 5 % above the number of processes are taken for noise


def peaks(refresh: bool = False, *, _seconds: float = 4.2) -> Peaks:
    """The peaks of this machine, kept from an earlier time or measured (5 s, best while nothing else runs)."""
    machine = this_machine(_seconds)
    try:
        path = home() / "peaks" / file_name(machine)
    except Deep500Error as error:
        return _not_kept(_measure(machine, _seconds), error)
    found = None if refresh else read_peaks(path, machine)
    if found is None:
        found = _measure(machine, _seconds)
        try:
            write_peaks(path, found)
        except (
            OSError
        ) as error:  # a folder that cannot be written is no reason not to know the peaks
            return _not_kept(found, error)
    return found


def _not_kept(found: Peaks, error: Exception) -> Peaks:
    return replace(found, note="; ".join(filter(None, [found.note, f"not kept: {error}"])))


def _measure(machine: dict[str, str], seconds: float) -> Peaks:
    share = seconds / (len(DTYPES) + 1)
    start, others = perf_counter(), busy_seconds()
    flops = {dtype: gemm_peak(dtype, share) for dtype in DTYPES}
    bandwidth = bandwidth_peak(share)
    taken = (busy_seconds() - others) / (perf_counter() - start) / len(allowed_cpus())
    note = f"others used {taken:.0%} of the CPUs meanwhile: {AGAIN}" if taken > BUSY else ""
    return Peaks(flops, bandwidth, machine, datetime.now(UTC).isoformat(timespec="seconds"), note)


@dataclass(frozen=True)
class Roofline:
    """What flop/s a kernel of this intensity can reach, and, with its time, how much of that it did reach."""

    intensity: float  # flop per byte
    bound_flops: float  # flop/s
    limited_by: Literal["compute", "memory"]
    minimum_seconds: float
    fraction: float | None  # of the bound that was reached; None without a time
    tolerance: float  # how far above 1 the fraction may be, for the peak was itself measured
    alarm: str | None


def roofline(
    flops: float,
    bytes_moved: float,
    seconds: float | None = None,
    dtype: str = "float32",
    peaks: Peaks | None = None,
) -> Roofline:
    """The bound for work of `flops` and `bytes_moved` to and from memory; `peaks` defaults to this machine's."""
    _check_work(flops, bytes_moved, seconds)
    known = _this_machines_peaks() if peaks is None else peaks
    if dtype not in known.flops:
        raise Unsupported(
            f"there is no peak for {dtype!r}: this machine's are {', '.join(known.flops)}"
        )
    peak, bandwidth = known.flops[dtype], known.bandwidth
    computing, moving = flops / peak.value, bytes_moved / bandwidth.value
    minimum = max(computing, moving)
    limit = bandwidth if moving > computing else peak
    fraction = None if seconds is None else minimum / seconds
    alarm = None
    if fraction is not None and fraction > 1 + limit.uncertainty:
        done = (bytes_moved if limit is bandwidth else flops) / float(seconds or math.nan)
        alarm = (
            f"above a physical peak: {done:.3g} {limit.unit} is {fraction:.2f} x the {limit.value:.3g} of {limit.what} "
            f"({limit.uncertainty:.0%} above is tolerated): check the count of "
            + ("bytes, whether the data stay in a cache" if limit is bandwidth else "flops")
            + ", the work done, the timer"
            + (f"; {known.note}" if known.note else "")
        )
    return Roofline(
        intensity=flops / bytes_moved if bytes_moved else math.inf,
        bound_flops=flops / minimum,
        limited_by="memory" if limit is bandwidth else "compute",
        minimum_seconds=minimum,
        fraction=fraction,
        tolerance=limit.uncertainty,
        alarm=alarm,
    )


def _check_work(flops: float, bytes_moved: float, seconds: float | None) -> None:
    for name, value in (("flops", flops), ("bytes_moved", bytes_moved)):
        if not 0 <= value < math.inf:
            raise Deep500Error(f"{name} is {value}: give a finite count, 0 or more")
    if not flops and not bytes_moved:
        raise Deep500Error("flops and bytes_moved are both 0: there is no work to bound")
    if seconds is not None and not 0 < seconds < math.inf:
        raise Deep500Error(f"seconds is {seconds}: give a finite time above 0, or leave it out")


def _this_machines_peaks() -> Peaks:
    return peaks()


@dataclass(frozen=True)
class ScalingLines:
    """Bounds in seconds for each number of processes: ideal, Amdahl's, and Amdahl's with parallel overhead."""

    base_seconds: float
    processes: tuple[int, ...]
    ideal: tuple[float, ...]
    amdahl: tuple[float, ...]
    overhead: tuple[float, ...] | None

    def speedups(self, seconds: Sequence[float]) -> tuple[float, ...]:
        """The speed-ups over the base that times (of a line, or measured) stand for."""
        return tuple(self.base_seconds / value for value in seconds)

    def superlinear(self, seconds: Sequence[float]) -> str | None:
        """A warning if measured times, one per number of processes, beat the ideal line."""
        if len(seconds) != len(self.processes) or not all(
            0 < value < math.inf for value in seconds
        ):
            raise Deep500Error(
                f"give one time above 0 for each of {len(self.processes)} numbers of processes"
            )
        beyond = [
            f"{gain:.2f} x with {p}"
            for p, gain in zip(self.processes, self.speedups(seconds), strict=True)
            if gain > p * (1 + SUPERLINEAR)
        ]
        if not beyond:
            return None
        return (
            f"super-linear speed-up ({', '.join(beyond)} processes): the base of {self.base_seconds:g} s is weak, the "
            "work differs, or more cache serves it; check the base case"
        )


def scaling_lines(
    base_seconds: float,
    processes: Sequence[int],
    serial_fraction: float = 0.0,
    overhead: Callable[[int], float] | None = None,
) -> ScalingLines:
    """Lower bounds of the time on p processes; `overhead(p)` gives seconds that p processes add."""
    counts = tuple(processes)
    if not 0 < base_seconds < math.inf:
        raise Deep500Error(
            f"base_seconds is {base_seconds}: give the finite time of one process, above 0"
        )
    if not 0 <= serial_fraction <= 1:
        raise Deep500Error(f"serial_fraction is {serial_fraction}: it is a share, from 0 to 1")
    if not counts or not all(p == int(p) and p >= 1 for p in counts):
        raise Deep500Error(f"processes is {list(counts)}: give whole numbers from 1")
    ideal = tuple(base_seconds / p for p in counts)
    amdahl = tuple(base_seconds * (serial_fraction + (1 - serial_fraction) / p) for p in counts)
    if overhead is None:
        return ScalingLines(base_seconds, counts, ideal, amdahl, None)
    added = [overhead(p) for p in counts]
    if not all(0 <= value < math.inf for value in added):
        raise Deep500Error(f"overhead gave {added}: it must give finite seconds, 0 or more")
    with_overhead = tuple(time + more for time, more in zip(amdahl, added, strict=True))
    return ScalingLines(base_seconds, counts, ideal, amdahl, with_overhead)
