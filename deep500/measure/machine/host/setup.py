"""Facts of the measurement's set-up: clocks, limits, load and other disturbances."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from datetime import datetime

from .files import HostFiles, Unavailable, cpu_list

_POLICIES = {
    0: "other",
    1: "fifo",
    2: "rr",
    3: "batch",
    5: "idle",
    6: "deadline",
}


def perf_counter(host: HostFiles) -> str:
    info = time.get_clock_info("perf_counter")
    return f"{info.implementation}, resolution {info.resolution:g} s"


def affinity(host: HostFiles) -> str:
    return host.field("/proc/self/status", "Cpus_allowed_list")


def usable_cpus(host: HostFiles) -> int:
    return len(cpu_list(affinity(host)))


def load(host: HostFiles) -> float:
    return float(host.line("/proc/loadavg").split()[0])


def running_tasks(host: HostFiles) -> str:
    return host.line("/proc/loadavg").split()[3]


def pressure(resource: str) -> Callable[[HostFiles], float]:
    """The probe of one pressure file: the share of the last 10 s in which some task had to wait."""
    path = f"/proc/pressure/{resource}"

    def percent(host: HostFiles) -> float:
        share = re.search(r"^some avg10=([\d.]+)", host.text(path), re.M)
        if share is None:
            raise Unavailable(f"{path}: no line 'some avg10'")
        return float(share[1])

    return percent


def stolen_time(host: HostFiles) -> float:
    """The share of CPU time since boot that the hypervisor gave to others."""
    first_line = host.line("/proc/stat").splitlines()[0]
    columns = first_line.split()[1:9]
    times = [int(ticks) for ticks in columns]
    total = sum(times)
    if len(times) < 8 or total == 0:
        raise Unavailable("/proc/stat: the first line has no time stolen")
    return round(100 * times[7] / total, 2)


def container(host: HostFiles) -> list[str] | str:
    marks = ("/.dockerenv", "/run/.containerenv", "/run/systemd/container")
    present = [path for path in marks if host.exists(path)]
    names = re.findall(
        r"docker|kubepods|lxc|containerd|libpod|garden",
        host.text("/proc/1/cgroup"),
    )
    marks_and_names = present + sorted(set(names))
    return marks_and_names or "none seen"


def power_source(host: HostFiles) -> str:
    mains = []
    has_battery = False
    for path in host.glob("/sys/class/power_supply/*"):
        kind = host.line(f"{path}/type")
        has_battery |= kind == "Battery"
        if kind in ("Mains", "USB"):
            mains.append(path)
    if not mains:
        return "not told" if has_battery else "mains (no battery is listed)"
    for path in mains:
        if host.number(f"{path}/online") == 1:
            return "mains"
    return "battery"


def scheduling(host: HostFiles) -> str:
    after_name = host.line("/proc/self/stat").rpartition(")")[2]
    fields = after_name.split()  # numbered from 3 in proc(5)

    number = int(fields[41 - 3])
    policy = _POLICIES.get(number, number)
    nice = int(fields[19 - 3])
    return f"{policy}, nice {nice}"


def limit(name: str) -> Callable[[HostFiles], str]:
    """The probe of one limit of this process (soft)."""

    def soft(host: HostFiles) -> str:
        line = rf"^{re.escape(name)} {{2,}}(\S+)"
        value = re.search(line, host.text("/proc/self/limits"), re.M)
        if value is None:
            raise Unavailable(f"/proc/self/limits: no line {name!r}")
        return value[1]

    return soft


def tracing(host: HostFiles) -> str:
    tools = []
    if sys.gettrace() is not None:
        tools.append("a tracer")
    if sys.getprofile() is not None:
        tools.append("a profiler")
    return " and ".join(tools) or "none"


def host_name(host: HostFiles) -> str:
    return os.uname().nodename


def moment(host: HostFiles) -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


def time_zone(host: HostFiles) -> str:
    return " ".join(dict.fromkeys(time.tzname))


def uptime(host: HostFiles) -> float:
    seconds = host.line("/proc/uptime").split()[0]
    return round(float(seconds) / 3600, 1)
