"""What checks can see of PyTorch's devices."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ...contracts.device import SIMULATED
from ...contracts.device_probe import DeviceProbe, Transfers
from . import simulated_device

TYPES = (torch.Tensor, torch.nn.Parameter)
# of a tensor's values on the simulated device, such as nonzero: no other code gives a result of unknown size
BY_VALUES = "aten::"


class TorchProbe(DeviceProbe):
    """Transfers are counted by the simulated device, and by CUDA's debug mode for synchronising calls."""

    def __init__(self, device: str):
        self._kind = torch.device(device).type

    def is_plain(self, value: Any) -> bool:
        return type(value) in TYPES

    def same_memory(self, a: Any, b: Any) -> bool:
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
            return False
        return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()

    @contextmanager
    def transfers(self) -> Iterator[Transfers | None]:
        if self._kind == SIMULATED:
            with self._counted() as seen:
                yield seen
        elif self._kind == "cuda":
            with self._warned() as seen:
                yield seen
        else:
            yield None

    @contextmanager
    def _counted(self) -> Iterator[Transfers]:
        seen = Transfers()
        with simulated_device.counting() as counts:
            yield seen
        for name, count in counts.waited_in.items():
            if not name.startswith(BY_VALUES):
                seen.waits[name] = count
        seen.copies_to_host = counts.copies_to_host

    @contextmanager
    def _warned(self) -> Iterator[Transfers]:
        """Calls that synchronise, by the warnings of CUDA's debug mode; copies to the host are among them."""
        seen = Transfers()
        before = torch.cuda.get_sync_debug_mode()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            try:
                yield seen
            finally:
                torch.cuda.set_sync_debug_mode(before)
        count = sum("synchroniz" in str(warning.message) for warning in caught)
        if count:
            seen.waits["a synchronising call"] = count

    @contextmanager
    def slowed(self, seconds: float) -> Iterator[None]:
        if self._kind != SIMULATED:
            yield
            return
        with simulated_device.latency(seconds):
            yield
