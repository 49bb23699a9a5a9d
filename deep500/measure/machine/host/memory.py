"""Facts of the hardware: memory."""

from __future__ import annotations

import os
import re
from collections import Counter

from .files import HostFiles, Unavailable

HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"

# SMBIOS 3.x, section 7.18.2, memory device: type.
_MEMORY_TYPES = {
    0x12: "DDR",
    0x13: "DDR2",
    0x18: "DDR3",
    0x1A: "DDR4",
    0x1B: "LPDDR",
    0x1C: "LPDDR2",
    0x1D: "LPDDR3",
    0x1E: "LPDDR4",
    0x20: "HBM",
    0x21: "HBM2",
    0x22: "DDR5",
    0x23: "LPDDR5",
}


def memory_size(host: HostFiles) -> float:
    return _meminfo_gib(host, "MemTotal")


def memory_type(host: HostFiles) -> list[str]:
    paths = host.glob("/sys/firmware/dmi/entries/17-*/raw")
    if not paths:
        raise Unavailable("/sys/firmware/dmi/entries: no memory module is listed")
    modules = [_module(host, path) for path in paths]

    counts = Counter(sorted(filter(None, modules)))
    return [f"{count} x {kind}" for kind, count in counts.items()]


def _module(host: HostFiles, path: str) -> str | None:
    """Type and speed of one memory module (SMBIOS type 17); None for an empty socket."""
    try:
        raw = (host.root / path.lstrip("/")).read_bytes()
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror} (readable by root only)") from None
    if len(raw) < 0x17:
        raise Unavailable(f"{path}: shorter than a memory device")
    size = int.from_bytes(raw[0x0C:0x0E], "little")
    if size == 0:
        return None
    speed = int.from_bytes(raw[0x15:0x17], "little")
    number = raw[0x12]
    kind = _MEMORY_TYPES.get(number, f"type {number:#x}")
    return f"{kind} at {speed} MT/s"


def numa_nodes(host: HostFiles) -> list[str]:
    folders = host.glob("/sys/devices/system/node/node[0-9]*")
    if not folders:
        raise Unavailable(
            "/sys/devices/system/node: no node is listed (a kernel without NUMA)"
        )
    nodes = []
    for folder in folders:
        cpus = host.text(f"{folder}/cpulist").strip()
        name = os.path.basename(folder)
        nodes.append(f"{name}: CPU {cpus or 'none'}")
    return nodes


def transparent_huge_pages(host: HostFiles) -> str:
    chosen = re.search(r"\[(\w+)\]", host.line(HUGE_PAGES))
    if chosen is None:
        raise Unavailable(f"{HUGE_PAGES}: marks no choice")
    return chosen[1]


def huge_pages(host: HostFiles) -> int:
    return int(host.field("/proc/meminfo", "HugePages_Total"))


def swap_size(host: HostFiles) -> float:
    return _meminfo_gib(host, "SwapTotal")


def swap_used(host: HostFiles) -> float:
    total = _meminfo_gib(host, "SwapTotal")
    free = _meminfo_gib(host, "SwapFree")
    return round(total - free, 2)


def memory_available(host: HostFiles) -> float:
    return _meminfo_gib(host, "MemAvailable")


def _meminfo_gib(host: HostFiles, key: str) -> float:
    kibibytes = host.field("/proc/meminfo", key).split()[0]
    return round(int(kibibytes) / 2**20, 2)
