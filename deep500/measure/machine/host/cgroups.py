"""Facts of the measurement's set-up: what control groups (version 1, 2 or both) allow this process."""

from __future__ import annotations

from collections.abc import Iterator

from .files import Host, Unavailable, whole

NO_LIMIT = "no limit"
_UNLIMITED_BYTES = 2**60  # version 1 writes "no limit" as a huge number of pages


def cpu_quota(host: Host) -> float | str:
    """The number of CPUs' worth of time per period that the tightest group above allows."""
    quotas = []
    for _, text in _settings(host, "", "cpu.max"):
        quota, _, period = text.partition(" ")
        if quota != "max":
            quotas.append(whole(quota, "cpu.max") / whole(period, "cpu.max"))
    for folder, text in _settings(host, "cpu", "cpu.cfs_quota_us"):
        if whole(text, "cpu.cfs_quota_us") > 0:
            quotas.append(
                whole(text, "cpu.cfs_quota_us")
                / host.number(f"{folder}/cpu.cfs_period_us")
            )
    return round(min(quotas), 4) if quotas else NO_LIMIT


def memory_limit(host: Host) -> float | str:
    """The tightest limit in GiB."""
    texts = [text for _, text in _settings(host, "", "memory.max")]
    texts += [text for _, text in _settings(host, "memory", "memory.limit_in_bytes")]
    limits = [whole(text, "memory limit") for text in texts if text != "max"]
    real = [limit for limit in limits if limit < _UNLIMITED_BYTES]
    return round(min(real) / 2**30, 3) if real else NO_LIMIT


def _settings(host: Host, controller: str, name: str) -> Iterator[tuple[str, str]]:
    """Folder and text of every file `name` from this process's group up to the top; `""` is version 2."""
    for mount, group in _groups(host, controller):
        parts = [part for part in group.split("/") if part not in ("", "..")]
        for depth in range(len(parts), -1, -1):
            folder = "/".join([mount, *parts[:depth]])
            if host.exists(f"{folder}/{name}"):
                yield folder, host.line(f"{folder}/{name}")


def _groups(host: Host, controller: str) -> Iterator[tuple[str, str]]:
    """Where the controller may be mounted, with this process's group in it."""
    lines = [line.split(":", 2) for line in host.text("/proc/self/cgroup").splitlines()]
    if not lines or any(len(line) != 3 for line in lines):
        raise Unavailable("/proc/self/cgroup: holds no control groups")
    for _, controllers, group in lines:
        if controllers == "" and controller == "":
            yield "/sys/fs/cgroup", group
            yield "/sys/fs/cgroup/unified", group
        elif controller and controller in controllers.split(","):
            yield f"/sys/fs/cgroup/{controllers}", group
