"""NVIDIA's management library, where its Python module is installed: names and energy of devices."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from .files import Unavailable


def open_library() -> Any:
    """The started library as a module; whoever opens it calls its `nvmlShutdown()`."""
    if importlib.util.find_spec("pynvml") is None:
        raise Unavailable("module pynvml is not installed (pip install nvidia-ml-py)")
    nvml = importlib.import_module("pynvml")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise Unavailable(f"NVML does not start: {error}") from None
    return nvml


def energy_mj(nvml: Any) -> list[int]:
    """The energy counter of every device, in millijoule since its driver was loaded."""
    energies = []
    try:
        for handle in _handles(nvml):
            energy = nvml.nvmlDeviceGetTotalEnergyConsumption(handle)
            energies.append(int(energy))
    except nvml.NVMLError as error:
        raise Unavailable(f"NVML has no energy counter here: {error}") from None
    return energies


def device_names() -> list[str]:
    """The devices that NVML names; an absent library names none."""
    try:
        nvml = open_library()
    except Unavailable:
        # no module or no driver: no device of theirs can be used
        return []
    try:
        names = [nvml.nvmlDeviceGetName(handle) for handle in _handles(nvml)]
    except nvml.NVMLError as error:
        raise Unavailable(f"NVML cannot name the devices: {error}") from None
    finally:
        nvml.nvmlShutdown()
    return [_text(name) for name in names]


def _handles(nvml: Any) -> list[Any]:
    count = nvml.nvmlDeviceGetCount()
    return [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]


def _text(name: object) -> str:
    """The name as text; older versions of the library give bytes."""
    if isinstance(name, bytes):
        return name.decode(errors="replace")
    return str(name)
