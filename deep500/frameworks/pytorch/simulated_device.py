"""A simulated accelerator for tests without a GPU: PyTorch's device "sim".

The host may not touch its memory (an access ends the process with SIGSEGV), calls return before their results exist,
and it counts what waited and what was copied. Values are those of the CPU, in every bit.
"""

import atexit
import ctypes
import gc
import os
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import torch

from ...errors import Unsupported
from .extension import load_extension

NAME = "sim"
COMPILING = ("-O1",)  # half the time of -O2: the kernels are PyTorch's own
SETTLING_S = 0.05


@dataclass
class Counts:
    """What a block of code asked of the simulated devices, and what these did.

    A graph is one launch of many `kernels`. `delay_ns` is for how long latency held kernels up, as the device saw it.
    `waited_in` tells by name what made the host wait.
    """

    launches: int = 0
    waits: int = 0
    bytes_to_device: int = 0
    bytes_to_host: int = 0
    copies_to_device: int = 0
    copies_to_host: int = 0
    kernels: int = 0
    delay_ns: int = 0
    waited_in: dict[str, int] = field(default_factory=dict)


ASKED = (
    "launches",
    "waits",
    "bytes_to_device",
    "bytes_to_host",
    "copies_to_device",
    "copies_to_host",
)
# known when all kernels of the block have run
DONE = ("kernels", "delay_ns")
NUMBERS = {name: number for number, name in enumerate((*ASKED, *DONE))}


@dataclass(frozen=True)
class KernelLedger:
    """Kernels that have run since the last `counting` began, and for how long latency held them up."""

    kernels: int
    delay_ns: int


@cache
def load() -> ctypes.CDLL:
    """Register the device with PyTorch; builds it by the C++ compiler if this has not been done before.

    Raises `Unsupported` if another library has brought a device of its own, of which PyTorch takes one in a process.
    """
    taken = torch._C._get_privateuse1_backend_name()
    if taken != "privateuseone":
        raise Unsupported(
            f"PyTorch takes one device of a library in a process, and has {taken!r}: simulate in another process"
        )
    source = Path(__file__).parent / "simulated" / "simulated_device.cpp"
    library = load_extension("simulated device", source, COMPILING)
    library.simulated_waits.restype = ctypes.c_char_p
    library.simulated_latency.restype = ctypes.c_int64
    library.simulated_set_latency.argtypes = [ctypes.c_int64]
    library.simulated_count.restype = ctypes.c_int64
    library.simulated_memory.restype = ctypes.c_int64
    library.simulated_set_memory.argtypes = [ctypes.c_int64]
    library.simulated_start()
    torch.utils.rename_privateuse1_backend(NAME)
    torch._register_device_module(NAME, _device_module(library))
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    from . import simulated_cells, simulated_recurrence

    simulated_cells.register()
    simulated_recurrence.register()
    atexit.register(_let_threads_finish, os.getpid())
    return library


@contextmanager
def latency(seconds: float) -> Iterator[None]:
    """Every kernel that is launched inside takes so much longer."""
    library = load()
    before = library.simulated_latency()
    library.simulated_set_latency(round(seconds * 1e9))
    try:
        yield
    finally:
        library.simulated_set_latency(before)


@contextmanager
def memory(size: int) -> Iterator[None]:
    """Each device has so many bytes inside, and no more than are there otherwise."""
    library = load()
    before = library.simulated_memory()
    library.simulated_set_memory(min(size, before))
    try:
        yield
    finally:
        library.simulated_set_memory(before)


@contextmanager
def counting() -> Iterator[Counts]:
    """Count launches, waits and copies of the block; the counts are there when it has ended."""
    library = load()
    _wait(library)
    library.simulated_reset()
    counts = Counts()
    yield counts
    for name in ASKED:
        setattr(counts, name, library.simulated_count(NUMBERS[name]))
    for line in library.simulated_waits().decode().splitlines():
        name, _, count = line.rpartition("=")
        counts.waited_in[name] = int(count)
    _wait(library)
    for name in DONE:
        setattr(counts, name, library.simulated_count(NUMBERS[name]))


def ledger() -> KernelLedger:
    """What has run so far, without waiting for the rest: the difference of two is what ran between them."""
    library = load()
    return KernelLedger(*(library.simulated_count(NUMBERS[name]) for name in DONE))


def _wait(library: ctypes.CDLL) -> None:
    """Until all devices are idle."""
    for device in range(library.simulated_devices()):
        torch.accelerator.synchronize(device)


def _device_module(library: ctypes.CDLL) -> types.ModuleType:
    """The module torch.sim, as PyTorch expects it of a device."""
    module = types.ModuleType(f"torch.{NAME}")
    pid = os.getpid()
    functions = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": library.simulated_devices,
        "current_device": torch.accelerator.current_device_index,
        "set_device": torch.accelerator.set_device_index,
        "synchronize": lambda device=None: torch.accelerator.synchronize(device),
        "manual_seed": lambda seed: None,  # draws come from the CPU's generator
        "manual_seed_all": lambda seed: None,
        "_is_in_bad_fork": lambda: os.getpid() != pid,
        "get_amp_supported_dtype": lambda: [torch.float16, torch.bfloat16],
    }
    vars(module).update(functions)
    return module


def _let_threads_finish(pid: int) -> None:
    """Wait for kernels and for autograd's thread: none may ask for Python's lock while Python ends."""
    if os.getpid() != pid:  # a copy of the process, which has no threads
        return
    _wait(load())
    gc.collect()
    time.sleep(SETTLING_S)
