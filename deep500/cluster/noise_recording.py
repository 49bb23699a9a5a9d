"""Records the detours of this machine: what interrupts a processor that does nothing but read the clock."""

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..contracts.fitted_loggp import machine_name
from ..contracts.noise_trace import NoiseTrace
from ..errors import Deep500Error
from .engine import compiled

THRESHOLD = (
    1000  # nanoseconds between two readings from which on something else has run
)
SLICE = 500_000_000  # nanoseconds between two looks at Ctrl-C
ROOM = 1 << 20  # detours of a slice
LONGEST = 600.0  # seconds
NANO = 10**9
ARGUMENTS = [ctypes.c_int64] * 3 + [ctypes.c_void_p] * 3
Progress = Callable[[float, str], None]


def record_noise(seconds: float, progress: Progress | None = None) -> NoiseTrace:
    """The detours of the processor that this runs on, for so many seconds."""
    if not 0 < seconds <= LONGEST:
        raise Deep500Error(
            f"--budget {seconds:g}: record noise for more than 0 and at most {LONGEST:g} s"
        )
    library = compiled("_detours.cpp", ())
    starts, ends = np.empty(ROOM, np.int64), np.empty(ROOM, np.int64)
    numbers = np.zeros(3, np.int64)
    all_starts: list[np.ndarray] = []
    all_ends: list[np.ndarray] = []
    recorded, wanted = 0, round(seconds * NANO)
    pointers = [array.ctypes.data for array in (starts, ends, numbers)]
    library.record_detours.argtypes = ARGUMENTS
    while recorded < wanted:
        slice_ns = min(SLICE, wanted - recorded)
        library.record_detours(slice_ns, THRESHOLD, ROOM, *pointers)
        count, length, _ = numbers.tolist()
        all_starts.append(recorded + starts[:count])
        all_ends.append(recorded + ends[:count])
        recorded += length
        if progress is not None:
            progress(min(1.0, recorded / wanted), "recording detours")
    return NoiseTrace(
        np.concatenate(all_starts),
        np.concatenate(all_ends),
        recorded,
        machine_name(),
    )


def write_noise(trace: NoiseTrace, path: Path) -> None:
    """Write a trace, as LogGOPSim reads it, too."""
    try:
        path.write_text(trace.text(), encoding="utf-8")
    except OSError as error:
        raise Deep500Error(f"cannot write {path}: {error.strerror}") from None
