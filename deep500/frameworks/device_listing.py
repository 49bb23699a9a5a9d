"""The devices of frameworks, each asked in a process of its own: a framework takes seconds to import."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from typing import Any

from ..contracts.device import DeviceInfo
from ..errors import Deep500Error
from ..supervision.isolation import isolated
from . import framework

LISTING = f"{__name__}:listed"
SECONDS = 120.0


def devices_by_framework(
    names: Sequence[str], timeout_s: float = SECONDS
) -> dict[str, list[DeviceInfo] | Deep500Error]:
    """The devices of each framework on this machine, the host first, or why it does not tell."""
    ask = partial(_devices, timeout_s=timeout_s)
    with ThreadPoolExecutor() as threads:
        return dict(zip(names, threads.map(ask, names), strict=True))


def _devices(name: str, timeout_s: float) -> list[DeviceInfo] | Deep500Error:
    try:
        found = isolated(LISTING, {"name": name}, timeout_s)
    except Deep500Error as error:
        return error
    return [DeviceInfo(**device) for device in found]


def listed(name: str, progress: Callable[[str], None]) -> list[dict[str, Any]]:
    """The devices of a framework; called in a process of its own."""
    progress(f"the devices of {name}")
    return [asdict(device) for device in framework(name).devices()]
