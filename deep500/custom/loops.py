"""Inner loops in C++, built once and kept; their callers have the same in NumPy, for machines without a compiler."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Deep500Error
from .building import build

FLAGS = ("-std=c++17", "-ffp-contract=off", "-fno-trapping-math")
HEADERS = "the standard library"  # nothing that changes without the compiler


class Loops:
    """The functions of a source file, which take arrays and numbers and return nothing.

    `headers` are the files of its folder that it includes.
    """

    def __init__(self, source: Path, headers: tuple[str, ...] = ()):
        self.source = source
        self.headers = headers
        self._only_numpy = False

    def library(self) -> ctypes.CDLL | None:
        """The compiled loops, or None where they cannot be built."""
        return _library(self.source, self.headers)

    @contextmanager
    def only_numpy(self, wanted: bool = True) -> Iterator[None]:
        """Inside of this block no loop in C++ is used, if that is wanted."""
        before, self._only_numpy = self._only_numpy, wanted
        try:
            yield
        finally:
            self._only_numpy = before

    def call(self, name: str, *arguments: Any) -> bool:
        """Run a loop on these arrays and numbers; returns False where there is none of that name."""
        if self._only_numpy or not name:
            return False
        loops = self.library()
        if loops is None:
            return False
        getattr(loops, name)(*map(_as_c, arguments))
        return True


@cache
def _library(source: Path, headers: tuple[str, ...]) -> ctypes.CDLL | None:
    text = source.read_text(encoding="utf-8")
    included = [source.with_name(name).read_text(encoding="utf-8") for name in headers]
    depends = "".join([HEADERS, *included])
    try:
        path = build(source.name, text, source.parent, FLAGS, depends)
    except Deep500Error:
        return None
    return ctypes.CDLL(str(path))


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
