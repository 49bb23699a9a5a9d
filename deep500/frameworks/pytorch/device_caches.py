"""Drives data out of a device's last cache, so that each timed call reads its inputs from memory."""

import ctypes
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch

UNKNOWN_BYTES = (
    128 << 20
)  # more than the caches of GPUs have, where the device does not tell


def cold_caches(device: str) -> Callable[[], None]:
    """Overwrite twice as much memory as the cache has; lines that a kernel has asked to keep are given up first."""
    is_cuda = torch.device(device).type == "cuda" and torch.version.cuda is not None
    release = kept_lines_released(torch.version.cuda) if is_cuda else None
    filler = torch.empty(2 * cache_bytes(device), dtype=torch.uint8, device=device)

    def flush() -> None:
        if release is not None:
            release()
        filler.zero_()

    return flush


def cache_bytes(device: str) -> int:
    """The size of the device's last cache, or more where it is not known."""
    module: Any = torch.get_device_module(device)
    properties = getattr(module, "get_device_properties", None)
    size = getattr(properties(device), "L2_cache_size", 0) if properties else 0
    return int(size) or UNKNOWN_BYTES


def kept_lines_released(version: str | None) -> Callable[[], object] | None:
    """CUDA's function by which no line of the cache is kept any more; None where its runtime is not loaded."""
    major = (version or "").partition(".")[0]
    with suppress(OSError, AttributeError):
        return ctypes.CDLL(f"libcudart.so.{major}").cudaCtxResetPersistingL2Cache
    return None
