"""The devices of frameworks, each asked in a process of its own: a framework takes seconds to import."""

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from ..contracts.device import HOST, DeviceInfo
from ..errors import Deep500Error
from ..supervision.isolation import isolated
from . import framework

LISTING = f"{__name__}:listed"
SECONDS = 120.0
# What drivers of NVIDIA, AMD, Intel, TPUs and WSL put into /dev: without any of them, no framework need be asked.
NODES = ("nvidia[0-9]*", "kfd", "dri/renderD*", "accel*", "vfio/[0-9]*", "dxg")


def devices_by_framework(
    names: Sequence[str], timeout_s: float = SECONDS
) -> dict[str, list[DeviceInfo] | Deep500Error]:
    """The devices of each framework on this machine, the host first, or why it does not tell."""
    if not may_have_accelerators():
        return {name: [DeviceInfo(HOST)] for name in names}
    ask = partial(_devices, timeout_s=timeout_s)
    with ThreadPoolExecutor() as threads:
        return dict(zip(names, threads.map(ask, names), strict=True))


def device_words(names: Sequence[str]) -> dict[str, str]:
    """The devices of each framework in one line: "cpu, cuda:0 (NVIDIA H100)"."""
    lines = {}
    for name, devices in devices_by_framework(names).items():
        if isinstance(devices, Deep500Error):
            lines[name] = f"not known: {devices}"
            continue
        words = []
        for device in devices:
            words.append(
                f"{device.word} ({device.name})" if device.name else device.word
            )
        lines[name] = ", ".join(words)
    return lines


def may_have_accelerators(dev: Path = Path("/dev")) -> bool:
    """Whether this machine could have an accelerator, by its device files."""
    if sys.platform != "linux":
        return True
    return any(next(dev.glob(node), None) for node in NODES)


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
