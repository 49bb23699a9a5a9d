"""The kernels in C++, built for each set of instructions; all sets give the same bits."""

import ctypes
import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..custom.building import build
from ..errors import Deep500Error, unknown

SOURCE = Path(__file__).with_name("kernels.cpp")
FLAGS = ("-std=c++17", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno")
# the compiler's options and the processor's flags of every set, the fastest first
SETS = {
    "avx512": (
        ("-march=x86-64-v4", "-mprefer-vector-width=512"),
        {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    ),
    "avx2": (("-march=x86-64-v3",), {"avx2", "fma", "bmi2", "f16c"}),
    "baseline": ((), set()),
}
# the variable of the environment that chooses a set
CHOICE = "DEEP500_INSTRUCTIONS"


def instruction_set() -> str:
    """The set that kernels use: the one that is asked for, or the fastest that this processor has."""
    possible = available_sets()
    wanted = os.environ.get(CHOICE, possible[0])
    if wanted not in SETS:
        raise unknown(CHOICE, wanted, [*SETS])
    if wanted not in possible:
        raise Deep500Error(
            f"{CHOICE} is {wanted}, which this processor lacks: choose {' or '.join(possible)}"
        )
    return wanted


@cache
def available_sets() -> tuple[str, ...]:
    """The sets of this processor, the fastest first."""
    flags = _processor_flags()
    return tuple(name for name, (_, needed) in SETS.items() if needed <= flags)


class _Selected:
    """The kernels of the set that was selected last."""

    library: ctypes.CDLL | None = None


def select(threads: int = 1) -> None:
    """Use the kernels of the current set from now on; raises a Deep500Error where they cannot be built."""
    _Selected.library = _built(instruction_set())
    call("use_threads", threads)


@cache
def _built(name: str) -> ctypes.CDLL:
    options, _ = SETS[name]
    march = options or _baseline()
    headers = [path.read_text() for path in sorted(SOURCE.parent.glob("*.h"))]
    text = SOURCE.read_text()
    flags = (*FLAGS, *march, f"-I{SOURCE.parent}")
    path = build(f"fixed_{name}", text, SOURCE.parent, flags, "\0".join(headers))
    return ctypes.CDLL(str(path))


def _baseline() -> tuple[str, ...]:
    """Without an option, code is for the processor at hand: on x86, one for any of them."""
    return ("-march=x86-64",) if platform.machine() == "x86_64" else ()


def _processor_flags() -> set[str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return set()
    for line in text.splitlines():
        if line.startswith("flags"):
            return set(line.partition(":")[2].split())
    return set()


def call(name: str, *arguments: Any) -> None:
    """Run a kernel on arrays, which are contiguous, on whole numbers and floats; None stands for no array."""
    if _Selected.library is None:
        select()
    function = getattr(_Selected.library, name)
    if function.argtypes is None:
        function.argtypes = [_c_type(value) for value in arguments]
        function.restype = None
    function(
        *[
            value.__array_interface__["data"][0] if type(value) is np.ndarray else value
            for value in arguments
        ]
    )


def _c_type(value: Any) -> Any:
    if value is None or isinstance(value, np.ndarray):
        return ctypes.c_void_p
    return ctypes.c_double if isinstance(value, float) else ctypes.c_int64
