"""Facts of the measurement's set-up: what control groups (version 1, 2 or both) allow this process."""

from __future__ import annotations

from collections.abc import Iterator

from .files import HostFiles, Unavailable, whole

NO_LIMIT = "no limit"
# version 1 writes "no limit" as a huge number of pages
_UNLIMITED_BYTES = 2**60


def cpu_quota(host: HostFiles) -> float | str:
    """The number of CPUs' worth of time per period that the tightest group above allows."""
    quotas = []
    for _, text in _settings(host, "", "cpu.max"):
        quota, _, period = text.partition(" ")
        if quota != "max":
            quota_us = whole(quota, "cpu.max")
            period_us = whole(period, "cpu.max")
            quotas.append(quota_us / period_us)
    for folder, text in _settings(host, "cpu", "cpu.cfs_quota_us"):
        quota_us = whole(text, "cpu.cfs_quota_us")
        if quota_us > 0:
            period_us = host.number(f"{folder}/cpu.cfs_period_us")
            quotas.append(quota_us / period_us)
    if not quotas:
        return NO_LIMIT
    return round(min(quotas), 4)


def memory_limit(host: HostFiles) -> float | str:
    """The tightest limit in GiB."""
    settings = list(_settings(host, "", "memory.max"))
    settings += _settings(host, "memory", "memory.limit_in_bytes")
    limits = []
    for _, text in settings:
        if text != "max":
            limits.append(whole(text, "memory limit"))
    tightest = min(limits, default=_UNLIMITED_BYTES)
    if tightest >= _UNLIMITED_BYTES:
        return NO_LIMIT
    return round(tightest / 2**30, 3)


def _settings(host: HostFiles, controller: str, name: str) -> Iterator[tuple[str, str]]:
    """Folder and text of every file `name` from this process's group up to the top; `""` is version 2."""
    for mount, group in _groups(host, controller):
        parts = [part for part in group.split("/") if part not in ("", "..")]
        for depth in range(len(parts), -1, -1):
            folder = "/".join([mount, *parts[:depth]])
            path = f"{folder}/{name}"
            if host.exists(path):
                yield folder, host.line(path)


def _groups(host: HostFiles, controller: str) -> Iterator[tuple[str, str]]:
    """Where the controller may be mounted, with this process's group in it."""
    lines = host.text("/proc/self/cgroup").splitlines()
    groups = [line.split(":", 2) for line in lines]
    if not groups or any(len(fields) != 3 for fields in groups):
        raise Unavailable("/proc/self/cgroup: holds no control groups")
    for _, controllers, group in groups:
        if controllers == "" and controller == "":
            yield "/sys/fs/cgroup", group
            yield "/sys/fs/cgroup/unified", group
        elif controller and controller in controllers.split(","):
            yield f"/sys/fs/cgroup/{controllers}", group
