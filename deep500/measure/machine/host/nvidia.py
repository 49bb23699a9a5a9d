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
    try:
        return [
            int(nvml.nvmlDeviceGetTotalEnergyConsumption(handle))
            for handle in _handles(nvml)
        ]
    except nvml.NVMLError as error:
        raise Unavailable(f"NVML has no energy counter here: {error}") from None


def device_names() -> list[str]:
    """The devices that NVML names; an absent library names none."""
    try:
        nvml = open_library()
    except Unavailable:  # no module or no driver: no device of theirs can be used
        return []
    try:
        names = [nvml.nvmlDeviceGetName(handle) for handle in _handles(nvml)]
        return [
            name.decode(errors="replace") if isinstance(name, bytes) else str(name)
            for name in names
        ]
    except nvml.NVMLError as error:
        raise Unavailable(f"NVML cannot name the devices: {error}") from None
    finally:
        nvml.nvmlShutdown()


def _handles(nvml: Any) -> list[Any]:
    return [
        nvml.nvmlDeviceGetHandleByIndex(index)
        for index in range(nvml.nvmlDeviceGetCount())
    ]
