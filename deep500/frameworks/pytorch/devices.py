"""The accelerators of PyTorch on this machine, by its device-neutral functions; marks on their clocks."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ...contracts.device import DeviceInfo
from . import simulated_device

NS_PER_MS = 1e6


def accelerators() -> list[DeviceInfo]:
    """One for each device of the accelerator that this build of PyTorch has, if there is one."""
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is None:
        return []
    kind = accelerator.type
    found = []
    for index in range(torch.accelerator.device_count()):
        name, driver = _product(kind, index)
        found.append(DeviceInfo(f"{kind}:{index}", name, driver, _memory(kind, index)))
    return found


def _product(kind: str, index: int) -> tuple[str, str]:
    """The names of the product and of its driver, as far as PyTorch knows them."""
    if kind == simulated_device.NAME:
        return "simulated on the CPU", "Deep500"
    module: Any = torch.get_device_module(kind)
    properties = getattr(module, "get_device_properties", None)
    name = getattr(properties(index), "name", "") if properties else ""
    version = torch.version.cuda or torch.version.hip or torch.version.xpu
    return str(name), f"{kind} {version}" if version else ""


def _memory(kind: str, index: int) -> int:
    if kind == "mps":
        return int(torch.mps.recommended_max_memory())
    try:
        return int(torch.accelerator.get_memory_info(index)[1])
    except (NotImplementedError, RuntimeError):  # not every device tells
        return 0


@contextmanager
def tf32() -> Iterator[None]:
    """Inside, products of float32 on CUDA are rounded to TF32."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


class TorchEvent:
    """A mark on a device's clock."""

    def __init__(self, device: str):
        self._device = torch.device(device)
        self._event = torch.Event(device, enable_timing=True)

    def record(self) -> None:
        self._event.record(torch.accelerator.current_stream(self._device))

    def elapsed_ns(self, end: "TorchEvent") -> int:
        end._event.synchronize()
        return round(self._event.elapsed_time(end._event) * NS_PER_MS)
