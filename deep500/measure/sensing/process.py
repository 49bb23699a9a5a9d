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
    Host,
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
    """Started just before a block, read just after; what the machine lacks is a reason, never an error."""

    def __init__(self, host: Host) -> None:
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
        user, system = (
            after - before
            for after, before in zip(_cpu_seconds(), self.cpu, strict=True)
        )
        around = (time.perf_counter_ns() - self.outer) / 1e9
        usage = "getrusage: this process and children it waited for"
        return {
            "wall_time": Reading(wall, "s", "cost", "perf_counter_ns"),
            "cpu_user": Reading(user, "s", "cost", usage),
            "cpu_system": Reading(system, "s", "cost", usage),
            "cpu_utilisation": Reading(
                (user + system) / around,
                "cores",
                "ratio",
                f"{usage}, by perf_counter_ns",
            ),
        }


class Cores(Sensor):
    """How many cores this process may use: what CPU utilisation has to be seen against."""

    def start(self) -> None:
        """Nothing to start: the number is read when the block has ended."""

    def read(self) -> dict[str, Reading]:
        return {
            "cpu_cores": attempt(
                "/proc/self/status Cpus_allowed_list", "cores", "count", self._cores
            )
        }

    def _cores(self) -> int:
        return len(cpu_list(self.host.field("/proc/self/status", "Cpus_allowed_list")))


def _cpu_seconds() -> tuple[float, float]:
    used = [
        resource.getrusage(who)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return sum(each.ru_utime for each in used), sum(each.ru_stime for each in used)


class Memory(Sensor):
    """Memory of this process now, and its peak during the block where the kernel lets us reset it."""

    STATUS = "/proc/self/status"
    _lock: ClassVar[threading.Lock] = threading.Lock()
    # The kernel keeps one peak for a process, so blocks inside blocks must share it.
    _open: ClassVar[list[Memory]] = []

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
        return {
            "memory_current": attempt(
                f"{self.STATUS} VmRSS", "B", "cost", lambda: self._bytes("VmRSS")
            ),
            "memory_peak": attempt(
                f"{self.STATUS} VmHWM, {self.span}",
                "B",
                "cost",
                lambda: max(self.seen, self._bytes("VmHWM")),
            ),
        }

    def _tell_open_blocks(self) -> None:
        """Give the peak so far to the blocks around this one, before it is reset."""
        if not self._open:
            return
        try:
            peak = self._bytes("VmHWM")
        except (
            Unavailable
        ):  # then no block's peak can be read, and each says so by itself
            return
        for outer in self._open:
            outer.seen = max(outer.seen, peak)

    def _bytes(self, key: str) -> int:
        words = self.host.field(self.STATUS, key).split()
        if len(words) != 2 or words[1] != "kB":
            raise Unavailable(f"{self.STATUS}: {key} is not in kB")
        return whole(words[0], f"{self.STATUS} {key}") * 1024


class Bytes(Sensor):
    """Bytes read and written: by calls (also from caches and pipes) and from and to storage devices."""

    IO = "/proc/self/io"
    NAMES: ClassVar[dict[str, str]] = {
        "read_chars": "rchar", "write_chars": "wchar", "read_bytes": "read_bytes",
        "write_bytes": "write_bytes",
    }  # fmt: skip

    def start(self) -> None:
        self.before, self.own = self._counters()

    def read(self) -> dict[str, Reading]:
        after, _ = self._counters()
        source = f"{self.IO}, this process and children it waited for"
        changes = {}
        for name, key in self.NAMES.items():
            change = partial(self._change, after, key)
            changes[name] = attempt(f"{source}: {key}", "B", "cost", change)
        return changes

    def _change(self, after: dict[str, str], key: str) -> int:
        if "reason" in after or "reason" in self.before:
            raise Unavailable(after.get("reason") or self.before["reason"])
        if key not in after or key not in self.before:
            raise Unavailable(f"{self.IO}: no line {key!r}")
        change = whole(after[key], self.IO) - whole(self.before[key], self.IO)
        # Reading the counters at the start was itself a read, counted after the counters were written out.
        return change - self.own if key == "rchar" else change

    def _counters(self) -> tuple[dict[str, str], int]:
        try:
            text = self.host.text(self.IO)
        except Unavailable as reason:
            return {"reason": str(reason)}, 0
        lines = (line.partition(":") for line in text.splitlines())
        return {name.strip(): value.strip() for name, _, value in lines}, len(text)


class Switches(Sensor):
    """How often the kernel took the CPU away."""

    def start(self) -> None:
        self.before = _involuntary()

    def read(self) -> dict[str, Reading]:
        source = "getrusage ru_nivcsw: this process and children it waited for"
        return {
            "involuntary_switches": Reading(
                float(_involuntary() - self.before), "", "count", source
            )
        }


def _involuntary() -> int:
    return sum(
        resource.getrusage(who).ru_nivcsw
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
