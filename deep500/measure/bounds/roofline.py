"""Upper bounds of performance (SC'15, Rule 11): measured peaks, the roofline over them, and scaling lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
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
# Speed-ups up to 5 % above the number of processes are taken for noise.
SUPERLINEAR = 0.05


def peaks(refresh: bool = False, *, _seconds: float = SECONDS) -> Peaks:
    """The peaks of this machine, kept from an earlier time or measured (5 s, best while nothing else runs).

    They are measured again when others use less of the machine than they did then, and the best of all counts.
    """
    machine = this_machine(_seconds)
    try:
        path = home() / "peaks" / file_name(machine)
    except Deep500Error as error:
        measured = _accepted(_measure(machine, _seconds), _seconds)
        return _not_kept(measured, error)
    cached = read_peaks(path, machine)
    if cached and not refresh and not _is_better_moment(cached):
        return cached
    best = better(cached, _measure(machine, _seconds))
    accepted = _accepted(best, _seconds)
    try:
        write_peaks(path, accepted)
    except OSError as error:
        # the peaks are known even where they cannot be written
        return _not_kept(accepted, error)
    return accepted


def refute_peak(dtype: str, flops_per_second: float) -> bool:
    """Forget the kept peaks if a kernel was faster than they allow, so that the next use measures them again."""
    cached = kept_peaks()
    if cached is None or dtype not in cached.flops:
        return False
    peak = cached.flops[dtype]
    if flops_per_second <= peak.value * (1 + peak.uncertainty):
        return False
    path = home() / "peaks" / file_name(cached.machine)
    path.unlink(missing_ok=True)
    return True


def kept_peaks() -> Peaks | None:
    """The peaks of this machine that an earlier measurement left; None if there are none."""
    machine = this_machine(SECONDS)
    path = home() / "peaks" / file_name(machine)
    return read_peaks(path, machine)


def _not_kept(peaks: Peaks, error: Exception) -> Peaks:
    note = f"not kept: {error}"
    if peaks.note:
        note = f"{peaks.note}; {note}"
    return replace(peaks, note=note)


def _is_better_moment(cached: Peaks) -> bool:
    """Whether measuring now promises better peaks than those that are kept."""
    if set(cached.flops) != set(DTYPES):
        return True
    if cached.others is None or cached.others <= BUSY:
        return False
    now = others_now()
    return now is not None and now < cached.others / 2


def _measure(machine: dict[str, str], seconds: float) -> Peaks:
    share = seconds / (len(DTYPES) + 1)
    flops = {}
    for dtype in DTYPES:
        flops[dtype] = _watched(partial(gemm_peak, dtype, share))
    bandwidth = _watched(partial(bandwidth_peak, share))
    return Peaks(flops=flops, bandwidth=bandwidth, machine=machine, measured=_now())


def _watched(kernel: Callable[[], Peak]) -> Peak:
    """The peak that a kernel finds, with the share of the CPUs that other processes used meanwhile."""
    watch = Others()
    peak = kernel()
    return replace(peak, others=watch.share(), measured=_now())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _accepted(measured: Peaks, seconds: float) -> Peaks:
    """The peaks, without that of float32 if it contradicts that of float64 even after repeated measurements."""
    share = seconds / (len(DTYPES) + 1)
    for _ in range(TRIES - 1):
        if not contradiction(measured.flops):
            return measured
        again = _watched(partial(gemm_peak, "float32", share))
        flops = measured.flops | {"float32": again}
        measured = better(measured, replace(measured, flops=flops))
    reason = contradiction(measured.flops)
    if not reason:
        return measured
    flops = dict(measured.flops)
    del flops["float32"]
    note = (
        f"there is no peak of float32: {reason}; measure again with `d5 doctor --peaks`"
    )
    return replace(measured, flops=flops, note=note)


@dataclass(frozen=True)
class Roofline:
    """What flop/s a kernel of this intensity can reach, and, with its time, how much of that it did reach."""

    intensity: float  # flop per byte
    bound_flops: float  # flop/s
    limited_by: Literal["compute", "memory"]
    minimum_seconds: float
    fraction: float | None  # of the bound that was reached; None without a time
    # how far above 1 the fraction may be, for the peak was itself measured
    tolerance: float
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
    machine = _this_machines_peaks() if peaks is None else peaks
    peak = _peak_for(dtype, machine)
    bandwidth = machine.bandwidth
    computing_s = flops / peak.value
    moving_s = bytes_moved / bandwidth.value
    minimum = max(computing_s, moving_s)
    in_memory = moving_s > computing_s
    limit = bandwidth if in_memory else peak
    fraction = alarm = None
    if seconds is not None:
        fraction = minimum / seconds
        if fraction > 1 + limit.uncertainty:
            rate = (bytes_moved if in_memory else flops) / float(seconds)
            alarm = _alarm(rate, fraction, limit, in_memory, machine.caveat)
    return Roofline(
        intensity=flops / bytes_moved if bytes_moved else math.inf,
        bound_flops=flops / minimum,
        limited_by="memory" if in_memory else "compute",
        minimum_seconds=minimum,
        fraction=fraction,
        tolerance=limit.uncertainty,
        alarm=alarm,
    )


def _peak_for(dtype: str, machine: Peaks) -> Peak:
    if dtype in machine.flops:
        return machine.flops[dtype]
    names = ", ".join(machine.flops)
    message = f"there is no peak for {dtype!r}: this machine's are {names}"
    if f"no peak of {dtype}" in machine.note:
        message += f"; {machine.note}"
    raise Unsupported(message)


def _alarm(
    rate: float, fraction: float, limit: Peak, in_memory: bool, caveat: str
) -> str:
    reached = f"{rate:.3g} {limit.unit} is {fraction:.2f} x"
    peak = f"the {limit.value:.3g} of {limit.what}"
    tolerated = f"{limit.uncertainty:.0%} above is tolerated"
    suspect = "flops"
    if in_memory:
        suspect = "bytes, whether the data stay in a cache"
    alarm = (
        f"above a physical peak: {reached} {peak} ({tolerated}): "
        f"check the count of {suspect}, the work done, the timer"
    )
    if caveat:
        return f"{alarm}; {caveat}"
    return alarm


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
        count = len(self.processes)
        are_times = all(0 < value < math.inf for value in seconds)
        if len(seconds) != count or not are_times:
            raise Deep500Error(
                f"give one time above 0 for each of {count} numbers of processes"
            )
        beyond = []
        speedups = self.speedups(seconds)
        for p, gain in zip(self.processes, speedups, strict=True):
            if gain > p * (1 + SUPERLINEAR):
                beyond.append(f"{gain:.2f} x with {p}")
        if not beyond:
            return None
        gains = ", ".join(beyond)
        return (
            f"super-linear speed-up ({gains} processes): the base of {self.base_seconds:g} s is weak, the "
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
    are_counts = all(p == int(p) and p >= 1 for p in counts)
    if not counts or not are_counts:
        raise Deep500Error(f"processes is {list(counts)}: give whole numbers from 1")
    ideal = tuple(base_seconds / p for p in counts)
    parallel_fraction = 1 - serial_fraction
    shares = [serial_fraction + parallel_fraction / p for p in counts]
    amdahl = tuple(base_seconds * share for share in shares)
    with_overhead = None
    if overhead is not None:
        with_overhead = _with_overhead(amdahl, [overhead(p) for p in counts])
    return ScalingLines(
        base_seconds=base_seconds,
        processes=counts,
        ideal=ideal,
        amdahl=amdahl,
        overhead=with_overhead,
    )


def _with_overhead(times: Sequence[float], overheads: list[float]) -> tuple[float, ...]:
    if not all(0 <= seconds < math.inf for seconds in overheads):
        raise Deep500Error(
            f"overhead gave {overheads}: it must give finite seconds, 0 or more"
        )
    pairs = zip(times, overheads, strict=True)
    return tuple(time + overhead for time, overhead in pairs)
