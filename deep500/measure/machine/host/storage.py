"""Facts of the software: file systems and the devices below them."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from .files import Host, Unavailable

MOUNTS = "/proc/self/mountinfo"


class Mount(NamedTuple):
    point: str
    device: str  # major:minor
    text: str


def working_folder(host: Host) -> str:
    return _mount(host, os.getcwd()).text


def temporary_folder(host: Host) -> str:
    return _mount(host, os.path.realpath(os.environ.get("TMPDIR", "/tmp"))).text


def working_device(host: Host) -> str:
    number = _mount(host, os.getcwd()).device
    disk = f"/sys/dev/block/{number}"
    for queue in (
        f"{disk}/queue",
        f"{disk}/../queue",
    ):  # a partition has the queue of its disk
        if host.exists(queue):
            kind = "rotating" if host.number(f"{queue}/rotational") else "not rotating"
            chosen = re.search(r"\[([\w-]+)\]", host.text(f"{queue}/scheduler"))
            return f"{kind}, scheduler {chosen[1] if chosen else 'none'}"
    return "not a block device"


def _mount(host: Host, folder: str) -> Mount:
    """The mount that holds a folder: the longest mount point above it, the latest of equals."""
    above = [
        mount
        for mount in _mounts(host)
        if os.path.commonpath([mount.point, folder]) == mount.point
    ]
    if not above:
        raise Unavailable(f"{MOUNTS}: nothing is mounted at or above the folder")
    return max(reversed(above), key=lambda mount: len(mount.point))


def _mounts(host: Host) -> list[Mount]:
    found = []
    for line in host.text(MOUNTS).splitlines():
        left, dash, right = (part.split() for part in line.partition(" - "))
        if len(left) >= 6 and dash and len(right) >= 2 and left[4].startswith("/"):
            # Spaces in a mount point are written as \040.
            point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), left[4])
            found.append(Mount(point, left[2], f"{right[0]} on {right[1]}, {left[5]}"))
    return found
