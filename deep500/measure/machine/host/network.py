"""Facts of the hardware: network."""

from __future__ import annotations

import os
import re

from .files import HostFiles, Unavailable

NONE = "none found"


def interfaces(host: HostFiles) -> list[str] | str:
    """Network interfaces that are real or up, without their addresses."""
    paths = host.glob("/sys/class/net/*")
    folders = [path for path in paths if host.exists(f"{path}/operstate")]
    if not folders:
        raise Unavailable("/sys/class/net: no interface is listed")
    real_or_up = [path for path in folders if _matters(host, path)]
    return [_interface(host, path) for path in real_or_up] or NONE


def _matters(host: HostFiles, path: str) -> bool:
    if host.exists(f"{path}/device"):
        return True
    return host.line(f"{path}/operstate") == "up"


def _interface(host: HostFiles, path: str) -> str:
    name = os.path.basename(path)
    try:
        rate = host.number(f"{path}/speed")
    except Unavailable:
        # the kernel answers "invalid argument" while a link is down
        rate = -1
    speed = f"{rate} Mb/s" if rate > 0 else "speed not told"
    driver = "virtual"
    driver_link = f"{path}/device/driver"
    if host.exists(driver_link):
        driver = host.link_name(driver_link)
    state = host.line(f"{path}/operstate")
    mtu = host.line(f"{path}/mtu")
    return f"{name}: {driver}, {speed}, {state}, MTU {mtu}"


def infiniband(host: HostFiles) -> list[str] | str:
    ports = host.glob("/sys/class/infiniband/*/ports/*")
    return [_port(host, path) for path in ports] or NONE


def _port(host: HostFiles, path: str) -> str:
    name = re.sub(r"^/sys/class/infiniband/|ports/", "", path)
    rate = host.line(f"{path}/rate")
    state = host.line(f"{path}/state")
    return f"{name}: {rate}, {state}"
