"""The inner loops in C++, built once and kept; without a compiler NumPy gives the same bits."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..custom.building import build
from ..errors import Deep500Error

SOURCE = Path(__file__).with_name("_kernels.cpp")
FLAGS = ("-std=c++17", "-ffp-contract=off", "-fno-trapping-math")
HEADERS = "the standard library"  # nothing that changes without the compiler


@cache
def library() -> ctypes.CDLL | None:
    """The compiled loops, or None where they cannot be built."""
    text = SOURCE.read_text(encoding="utf-8")
    try:
        path = build(SOURCE.name, text, SOURCE.parent, FLAGS, HEADERS)
    except Deep500Error:
        return None
    return ctypes.CDLL(str(path))


_numpy_only = False


@contextmanager
def only_numpy(wanted: bool = True) -> Iterator[None]:
    """Inside of this block no loop in C++ is used, if that is wanted."""
    global _numpy_only
    before, _numpy_only = _numpy_only, wanted
    try:
        yield
    finally:
        _numpy_only = before


def call(name: str, *arguments: Any) -> bool:
    """Run a loop on these arrays and numbers; returns False where there is none of that name."""
    if _numpy_only or not name:
        return False
    loops = library()
    if loops is None:
        return False
    getattr(loops, name)(*map(_as_c, arguments))
    return True


def width(dtype: Any) -> int:
    """32 or 64: the ending of a loop's name."""
    return 8 * np.dtype(dtype).itemsize


def _as_c(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, np.float32):
        return ctypes.c_float(float(value))
    if isinstance(value, np.float64):
        return ctypes.c_double(float(value))
    return ctypes.c_int64(value)
