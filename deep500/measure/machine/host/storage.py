"""Facts of the software: file systems and the devices below them."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from .files import HostFiles, Unavailable

MOUNTS = "/proc/self/mountinfo"


class Mount(NamedTuple):
    point: str
    device: str  # major:minor
    text: str


def working_folder(host: HostFiles) -> str:
    return _mount(host, os.getcwd()).text


def temporary_folder(host: HostFiles) -> str:
    folder = os.environ.get("TMPDIR", "/tmp")
    return _mount(host, os.path.realpath(folder)).text


def working_device(host: HostFiles) -> str:
    number = _mount(host, os.getcwd()).device
    disk = f"/sys/dev/block/{number}"
    # a partition has the queue of its disk
    for queue in (f"{disk}/queue", f"{disk}/../queue"):
        if host.exists(queue):
            return _queue(host, queue)
    return "not a block device"


def _queue(host: HostFiles, queue: str) -> str:
    rotational = host.number(f"{queue}/rotational")
    kind = "rotating" if rotational else "not rotating"
    schedulers = host.text(f"{queue}/scheduler")
    chosen = re.search(r"\[([\w-]+)\]", schedulers)
    scheduler = chosen[1] if chosen else "none"
    return f"{kind}, scheduler {scheduler}"


def _mount(host: HostFiles, folder: str) -> Mount:
    """The mount that holds a folder: the longest mount point above it, the latest of equals."""
    above = []
    for mount in _mounts(host):
        if os.path.commonpath([mount.point, folder]) == mount.point:
            above.append(mount)
    if not above:
        raise Unavailable(f"{MOUNTS}: nothing is mounted at or above the folder")
    return max(reversed(above), key=lambda mount: len(mount.point))


def _mounts(host: HostFiles) -> list[Mount]:
    mounts = []
    for line in host.text(MOUNTS).splitlines():
        place, dash, kind = line.partition(" - ")
        fields = place.split()
        kind_fields = kind.split()
        if not dash:
            continue
        if len(fields) < 6 or len(kind_fields) < 2:
            continue
        point = fields[4]
        options = fields[5]
        if point.startswith("/"):
            file_system, device = kind_fields[:2]
            text = f"{file_system} on {device}, {options}"
            number = fields[2]
            mounts.append(Mount(_unescaped(point), number, text))
    return mounts


def _unescaped(point: str) -> str:
    """A mount point with its octal escapes resolved; a space is written as \\040."""

    def character(code: re.Match[str]) -> str:
        return chr(int(code[1], 8))

    return re.sub(r"\\([0-7]{3})", character, point)
