"""Facts of the hardware: network."""

from __future__ import annotations

import os
import re

from .files import Host, Unavailable

NONE = "none found"


def interfaces(host: Host) -> list[str] | str:
    """Network interfaces that are real or up, without their addresses."""
    folders = [
        path
        for path in host.glob("/sys/class/net/*")
        if host.exists(f"{path}/operstate")
    ]
    if not folders:
        raise Unavailable("/sys/class/net: no interface is listed")
    return [_interface(host, path) for path in folders if _matters(host, path)] or NONE


def _matters(host: Host, path: str) -> bool:
    return host.exists(f"{path}/device") or host.line(f"{path}/operstate") == "up"


def _interface(host: Host, path: str) -> str:
    try:
        rate = host.number(f"{path}/speed")
    except Unavailable:  # the kernel answers "invalid argument" while a link is down
        rate = -1
    speed = f"{rate} Mb/s" if rate > 0 else "speed not told"
    driver = (
        host.link_name(f"{path}/device/driver")
        if host.exists(f"{path}/device/driver")
        else "virtual"
    )
    state, mtu = host.line(f"{path}/operstate"), host.line(f"{path}/mtu")
    return f"{os.path.basename(path)}: {driver}, {speed}, {state}, MTU {mtu}"


def infiniband(host: Host) -> list[str] | str:
    ports = host.glob("/sys/class/infiniband/*/ports/*")
    return [_port(host, path) for path in ports] or NONE


def _port(host: Host, path: str) -> str:
    name = re.sub(r"^/sys/class/infiniband/|ports/", "", path)
    return f"{name}: {host.line(f'{path}/rate')}, {host.line(f'{path}/state')}"
