"""Facts of the measurement's set-up: clocks, limits, load, what else may disturb."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from datetime import datetime

from .files import Host, Unavailable, cpu_list


def perf_counter(host: Host) -> str:
    info = time.get_clock_info("perf_counter")
    return f"{info.implementation}, resolution {info.resolution:g} s"


def affinity(host: Host) -> str:
    return host.field("/proc/self/status", "Cpus_allowed_list")


def usable_cpus(host: Host) -> int:
    return len(cpu_list(affinity(host)))


def load(host: Host) -> float:
    return float(host.line("/proc/loadavg").split()[0])


def running_tasks(host: Host) -> str:
    return host.line("/proc/loadavg").split()[3]


def pressure(resource: str) -> Callable[[Host], float]:
    """The probe of one pressure file: the share of the last 10 s in which some task had to wait."""
    path = f"/proc/pressure/{resource}"

    def percent(host: Host) -> float:
        found = re.search(r"^some avg10=([\d.]+)", host.text(path), re.M)
        if found is None:
            raise Unavailable(f"{path}: no line 'some avg10'")
        return float(found[1])

    return percent


def stolen_time(host: Host) -> float:
    """The share of CPU time since boot that the hypervisor gave to others."""
    times = [int(word) for word in host.line("/proc/stat").splitlines()[0].split()[1:9]]
    if len(times) < 8 or sum(times) == 0:
        raise Unavailable("/proc/stat: the first line has no time stolen")
    return round(100 * times[7] / sum(times), 2)


def container(host: Host) -> list[str] | str:
    marks = ("/.dockerenv", "/run/.containerenv", "/run/systemd/container")
    seen = [path for path in marks if host.exists(path)]
    named = re.findall(
        r"docker|kubepods|lxc|containerd|libpod|garden", host.text("/proc/1/cgroup")
    )
    return [*seen, *sorted(set(named))] or "none seen"


def power_source(host: Host) -> str:
    kinds = {
        path: host.line(f"{path}/type")
        for path in host.glob("/sys/class/power_supply/*")
    }
    mains = [path for path, kind in kinds.items() if kind in ("Mains", "USB")]
    if not mains:
        return (
            "not told"
            if "Battery" in kinds.values()
            else "mains (no battery is listed)"
        )
    return (
        "mains"
        if any(host.number(f"{path}/online") == 1 for path in mains)
        else "battery"
    )


def scheduling(host: Host) -> str:
    fields = (
        host.line("/proc/self/stat").rpartition(")")[2].split()
    )  # numbered from 3 in proc(5)
    policies = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline"}
    policy = int(fields[41 - 3])
    return f"{policies.get(policy, policy)}, nice {int(fields[19 - 3])}"


def limit(name: str) -> Callable[[Host], str]:
    """The probe of one limit of this process (soft)."""

    def soft(host: Host) -> str:
        found = re.search(
            rf"^{re.escape(name)} {{2,}}(\S+)", host.text("/proc/self/limits"), re.M
        )
        if found is None:
            raise Unavailable(f"/proc/self/limits: no line {name!r}")
        return found[1]

    return soft


def tracing(host: Host) -> str:
    tools = {"a tracer": sys.gettrace(), "a profiler": sys.getprofile()}
    return (
        " and ".join(name for name, tool in tools.items() if tool is not None) or "none"
    )


def host_name(host: Host) -> str:
    return os.uname().nodename


def moment(host: Host) -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


def time_zone(host: Host) -> str:
    return " ".join(dict.fromkeys(time.tzname))


def uptime(host: Host) -> float:
    return round(float(host.line("/proc/uptime").split()[0]) / 3600, 1)
