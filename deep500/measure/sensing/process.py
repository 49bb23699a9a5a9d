"""Sensors of this process: time, memory, bytes, switches. A sensor has `start()` and `read()`."""

from __future__ import annotations

import resource
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

from ..machine.host.files import (
    HostFiles,
    Unavailable,
    cpu_list,
    whole,
)

Kind = Literal["cost", "rate", "ratio", "count", "quality"]


@dataclass(frozen=True)
class Reading:
    """One quantity of a block: a value with its source, or None with the reason in `unavailable`."""

    value: float | None
    unit: str
    kind: Kind
    source: str
    unavailable: str | None = None


class Sensor(ABC):
    """Started just before a block, read just after; a quantity the machine lacks gives a reason, never an error."""

    def __init__(self, host: HostFiles) -> None:
        self.host = host

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def read(self) -> dict[str, Reading]: ...


def attempt(source: str, unit: str, kind: Kind, value: Callable[[], float]) -> Reading:
    """The reading that `value` gives, or the reason why it gives none."""
    try:
        return Reading(float(value()), unit, kind, source)
    except Unavailable as reason:
        return Reading(None, unit, kind, source, str(reason))


class Time(Sensor):
    """Wall time, CPU time of this process and the children it has waited for, and their ratio.

    The ratio divides by the time around the reading of CPU time, so it cannot exceed the cores by overhead.
    """

    def start(self) -> None:
        self.outer = time.perf_counter_ns()
        self.cpu = _cpu_seconds()
        self.inner = time.perf_counter_ns()

    def read(self) -> dict[str, Reading]:
        wall = (time.perf_counter_ns() - self.inner) / 1e9
        user_before, system_before = self.cpu
        user_after, system_after = _cpu_seconds()
        around = (time.perf_counter_ns() - self.outer) / 1e9
        user = user_after - user_before
        system = system_after - system_before
        cores = (user + system) / around
        usage = "getrusage: this process and children it waited for"
        per_time = f"{usage}, by perf_counter_ns"
        return {
            "wall_time": Reading(wall, "s", "cost", "perf_counter_ns"),
            "cpu_user": Reading(user, "s", "cost", usage),
            "cpu_system": Reading(system, "s", "cost", usage),
            "cpu_utilisation": Reading(cores, "cores", "ratio", per_time),
        }


class Cores(Sensor):
    """The number of cores that this process may use, to compare the CPU utilisation with."""

    def start(self) -> None:
        """Nothing to start: the number is read when the block has ended."""

    def read(self) -> dict[str, Reading]:
        source = "/proc/self/status Cpus_allowed_list"
        return {"cpu_cores": attempt(source, "cores", "count", self._cores)}

    def _cores(self) -> int:
        allowed = self.host.field("/proc/self/status", "Cpus_allowed_list")
        return len(cpu_list(allowed))


def _cpu_seconds() -> tuple[float, float]:
    process = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    user = process.ru_utime + children.ru_utime
    system = process.ru_stime + children.ru_stime
    return user, system


class MemorySensor(Sensor):
    """Memory of this process now, and its peak during the block where the kernel lets us reset it."""

    STATUS = "/proc/self/status"
    _lock: ClassVar[threading.Lock] = threading.Lock()
    # The kernel keeps one peak for a process, so blocks inside blocks must share it.
    _open: ClassVar[list[MemorySensor]] = []

    def start(self) -> None:
        self.seen = 0
        with self._lock:
            self._tell_open_blocks()
            try:
                self.host.overwrite("/proc/self/clear_refs", "5")
                self.span = "peak of the block"
            except Unavailable as reason:
                self.span = f"peak since the process began ({reason})"
            self._open.append(self)

    def read(self) -> dict[str, Reading]:
        with self._lock:
            self._open.remove(self)
        now = f"{self.STATUS} VmRSS"
        peak = f"{self.STATUS} VmHWM, {self.span}"
        return {
            "memory_current": attempt(now, "B", "cost", self._current),
            "memory_peak": attempt(peak, "B", "cost", self._peak),
        }

    def _current(self) -> int:
        return self._bytes("VmRSS")

    def _peak(self) -> int:
        return max(self.seen, self._bytes("VmHWM"))

    def _tell_open_blocks(self) -> None:
        """Give the peak so far to the blocks around this one, before it is reset."""
        if not self._open:
            return
        try:
            peak = self._bytes("VmHWM")
        except Unavailable:
            # no block's peak can be read: each of them reports that
            return
        for outer in self._open:
            outer.seen = max(outer.seen, peak)

    def _bytes(self, key: str) -> int:
        number_and_unit = self.host.field(self.STATUS, key).split()
        if len(number_and_unit) != 2 or number_and_unit[1] != "kB":
            raise Unavailable(f"{self.STATUS}: {key} is not in kB")
        kibibytes = whole(number_and_unit[0], f"{self.STATUS} {key}")
        return kibibytes * 1024


class Bytes(Sensor):
    """Bytes read and written: by calls (also from caches and pipes) and from and to storage devices."""

    IO = "/proc/self/io"
    NAMES: ClassVar[dict[str, str]] = {
        "read_chars": "rchar",
        "write_chars": "wchar",
        "read_bytes": "read_bytes",
        "write_bytes": "write_bytes",
    }

    def start(self) -> None:
        self.before, self.own = self._counters()

    def read(self) -> dict[str, Reading]:
        after, _ = self._counters()
        source = f"{self.IO}, this process and children it waited for"
        changes = {}
        for name, key in self.NAMES.items():
            change = partial(self._change, after, key)
            key_source = f"{source}: {key}"
            changes[name] = attempt(key_source, "B", "cost", change)
        return changes

    def _change(self, after: dict[str, str], key: str) -> int:
        if "reason" in after or "reason" in self.before:
            reason = after.get("reason") or self.before["reason"]
            raise Unavailable(reason)
        if key not in after or key not in self.before:
            raise Unavailable(f"{self.IO}: no line {key!r}")
        end = whole(after[key], self.IO)
        start = whole(self.before[key], self.IO)
        change = end - start
        if key == "rchar":
            # Reading the counters at the start was itself a read, counted after the counters were written out.
            return change - self.own
        return change

    def _counters(self) -> tuple[dict[str, str], int]:
        """The counters by name, and how many bytes were read to get them."""
        try:
            text = self.host.text(self.IO)
        except Unavailable as reason:
            return {"reason": str(reason)}, 0
        counters = {}
        for line in text.splitlines():
            name, _, value = line.partition(":")
            counters[name.strip()] = value.strip()
        return counters, len(text)


class Switches(Sensor):
    """How often the kernel took the CPU away."""

    def start(self) -> None:
        self.before = _involuntary()

    def read(self) -> dict[str, Reading]:
        switches = float(_involuntary() - self.before)
        source = "getrusage ru_nivcsw: this process and children it waited for"
        return {"involuntary_switches": Reading(switches, "", "count", source)}


def _involuntary() -> int:
    process = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process.ru_nivcsw + children.ru_nivcsw
