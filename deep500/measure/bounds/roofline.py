"""Upper bounds of performance (SC'15, Rule 11): measured peaks, the roofline over them, and scaling lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from ...errors import Deep500Error, Unsupported
from ...home import home
from ..sensing.others import BUSY, Others, others_now
from .peak_cache import (
    Peaks,
    better,
    contradiction,
    file_name,
    read_peaks,
    this_machine,
    write_peaks,
)
from .peak_kernels import (
    Peak,
    bandwidth_peak,
    gemm_peak,
)

DTYPES = ("float32", "float64")
SECONDS = 4.2  # of measuring
TRIES = 3  # for peaks that contradict each other
SUPERLINEAR = (
    0.05  # speed-ups up to 5 % above the number of processes are taken for noise
)


def peaks(refresh: bool = False, *, _seconds: float = SECONDS) -> Peaks:
    """The peaks of this machine, kept from an earlier time or measured (5 s, best while nothing else runs).

    They are measured again when others use less of the machine than they did then, and the best of all counts.
    """
    machine = this_machine(_seconds)
    try:
        path = home() / "peaks" / file_name(machine)
    except Deep500Error as error:
        return _not_kept(_accepted(_measure(machine, _seconds), _seconds), error)
    kept = read_peaks(path, machine)
    if kept and not refresh and not _is_better_moment(kept):
        return kept
    found = _accepted(better(kept, _measure(machine, _seconds)), _seconds)
    try:
        write_peaks(path, found)
    except (
        OSError
    ) as error:  # a folder that cannot be written is no reason not to know the peaks
        return _not_kept(found, error)
    return found


def refute_peak(dtype: str, flops_per_second: float) -> bool:
    """Forget the kept peaks if a kernel was faster than they allow, so that the next use measures them again."""
    kept = kept_peaks()
    if kept is None or dtype not in kept.flops:
        return False
    peak = kept.flops[dtype]
    if flops_per_second <= peak.value * (1 + peak.uncertainty):
        return False
    (home() / "peaks" / file_name(kept.machine)).unlink(missing_ok=True)
    return True


def kept_peaks() -> Peaks | None:
    """The peaks of this machine that an earlier measurement left."""
    machine = this_machine(SECONDS)
    return read_peaks(home() / "peaks" / file_name(machine), machine)


def _not_kept(found: Peaks, error: Exception) -> Peaks:
    return replace(
        found, note="; ".join(filter(None, [found.note, f"not kept: {error}"]))
    )


def _is_better_moment(kept: Peaks) -> bool:
    """Whether measuring now promises better peaks than those that are kept."""
    if set(kept.flops) != set(DTYPES):
        return True
    if kept.others is None or kept.others <= BUSY:
        return False
    now = others_now()
    return now is not None and now < kept.others / 2


def _measure(machine: dict[str, str], seconds: float) -> Peaks:
    share = seconds / (len(DTYPES) + 1)
    flops = {}
    for dtype in DTYPES:
        flops[dtype] = _watched(lambda dtype=dtype: gemm_peak(dtype, share))  # type: ignore[misc]
    bandwidth = _watched(lambda: bandwidth_peak(share))
    return Peaks(flops, bandwidth, machine, _now())


def _watched(kernel: Callable[[], Peak]) -> Peak:
    """The peak that a kernel finds, with what others used meanwhile."""
    watch = Others()
    peak = kernel()
    return replace(peak, others=watch.share(), measured=_now())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _accepted(found: Peaks, seconds: float) -> Peaks:
    """The peaks without one that contradicts another, however often it was measured again."""
    for _ in range(TRIES - 1):
        if not contradiction(found.flops):
            return found
        again = _watched(lambda: gemm_peak("float32", seconds / (len(DTYPES) + 1)))
        found = better(found, replace(found, flops=found.flops | {"float32": again}))
    reason = contradiction(found.flops)
    if not reason:
        return found
    flops = {dtype: peak for dtype, peak in found.flops.items() if dtype != "float32"}
    note = (
        f"there is no peak of float32: {reason}; measure again with `d5 doctor --peaks`"
    )
    return replace(found, flops=flops, note=note)


@dataclass(frozen=True)
class Roofline:
    """What flop/s a kernel of this intensity can reach, and, with its time, how much of that it did reach."""

    intensity: float  # flop per byte
    bound_flops: float  # flop/s
    limited_by: Literal["compute", "memory"]
    minimum_seconds: float
    fraction: float | None  # of the bound that was reached; None without a time
    tolerance: (
        float  # how far above 1 the fraction may be, for the peak was itself measured
    )
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
            + (f"; {known.note}" if f"no peak of {dtype}" in known.note else "")
        )
    peak, bandwidth = known.flops[dtype], known.bandwidth
    computing, moving = flops / peak.value, bytes_moved / bandwidth.value
    minimum = max(computing, moving)
    limit = bandwidth if moving > computing else peak
    fraction = None if seconds is None else minimum / seconds
    alarm = None
    if fraction is not None and fraction > 1 + limit.uncertainty:
        done = (bytes_moved if limit is bandwidth else flops) / float(
            seconds or math.nan
        )
        alarm = (
            f"above a physical peak: {done:.3g} {limit.unit} is {fraction:.2f} x the {limit.value:.3g} of {limit.what} "
            f"({limit.uncertainty:.0%} above is tolerated): check the count of "
            + (
                "bytes, whether the data stay in a cache"
                if limit is bandwidth
                else "flops"
            )
            + ", the work done, the timer"
            + (f"; {known.caveat}" if known.caveat else "")
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
        raise Deep500Error(
            "flops and bytes_moved are both 0: there is no work to bound"
        )
    if seconds is not None and not 0 < seconds < math.inf:
        raise Deep500Error(
            f"seconds is {seconds}: give a finite time above 0, or leave it out"
        )


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
        raise Deep500Error(
            f"serial_fraction is {serial_fraction}: it is a share, from 0 to 1"
        )
    if not counts or not all(p == int(p) and p >= 1 for p in counts):
        raise Deep500Error(f"processes is {list(counts)}: give whole numbers from 1")
    ideal = tuple(base_seconds / p for p in counts)
    amdahl = tuple(
        base_seconds * (serial_fraction + (1 - serial_fraction) / p) for p in counts
    )
    if overhead is None:
        return ScalingLines(base_seconds, counts, ideal, amdahl, None)
    added = [overhead(p) for p in counts]
    if not all(0 <= value < math.inf for value in added):
        raise Deep500Error(
            f"overhead gave {added}: it must give finite seconds, 0 or more"
        )
    with_overhead = tuple(time + more for time, more in zip(amdahl, added, strict=True))
    return ScalingLines(base_seconds, counts, ideal, amdahl, with_overhead)
