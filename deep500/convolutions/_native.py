"""The kernels of this folder, compiled once for this processor."""

import ctypes
from functools import cache
from pathlib import Path

import numpy as np

from ..contracts.convolution import DIRECTIONS, ConvolutionProblem
from ..custom.building import build
from ._cook_toom import header

FOLDER = Path(__file__).with_name("_kernels")
SOURCE = FOLDER / "convolutions.cpp"
FLAGS = ("-std=c++20", "-ffp-contract=fast", "-fno-trapping-math", "-fno-math-errno")
# numbers of enum Algorithm in convolutions.cpp
DIRECT, IM2COL, WINOGRAD, FFT, FFT_TILED = range(5)
SECONDS = 600.0  # to compile, which takes 10 s of an idle processor


@cache
def library(*flags: str) -> ctypes.CDLL:
    """The compiled kernels; a Deep500Error without a compiler. Further flags compile for lesser processors."""
    all_flags = (*FLAGS, *flags)
    path = build("convolutions", _text(), FOLDER, all_flags, "", seconds=SECONDS)
    loaded = ctypes.CDLL(str(path))
    loaded.convolve.restype = ctypes.c_int64
    return loaded


@cache
def _text() -> str:
    """All sources as one, in the order in which they include each other."""
    pieces = {"matrices.h": header()}
    for name in ("vectors", "problem", "product", "planes", "direct", "im2col"):
        pieces[f"{name}.h"] = _source(f"{name}.h")
    for name in ("domain_products", "transformed", "winograd", "fft"):
        pieces[f"{name}.h"] = _source(f"{name}.h")
    pieces[SOURCE.name] = _source(SOURCE.name)
    lines = []
    for name, text in pieces.items():
        lines.append(f'#line 1 "{name}"')
        for line in text.splitlines():
            is_ours = line.startswith('#include "') or line == "#pragma once"
            lines.append("" if is_ours else line)
    return "\n".join(lines) + "\n"


def _source(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def call(
    problem: ConvolutionProblem,
    direction: str,
    kernel: tuple[int, int, int],
    threads: int,
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    workspace: np.ndarray | None = None,
    accumulate: bool = False,
) -> int:
    """Run a kernel (its number and two sizes) on a, b and out; without arrays, count the bytes of its workspace."""
    sizes = np.array(_sizes(problem), np.int64)
    pointers: list[int | None] = [None] * 4
    if arrays is not None:
        pointers = [array.ctypes.data for array in arrays]
        pointers.append(None if workspace is None else workspace.ctypes.data)
    numbers = (*kernel[:1], DIRECTIONS.index(direction), *kernel[1:], threads)
    return int(
        library().convolve(
            ctypes.c_void_p(sizes.ctypes.data),
            *map(ctypes.c_int64, numbers),
            *map(ctypes.c_void_p, pointers),
            ctypes.c_int64(accumulate),
        )
    )


def _sizes(problem: ConvolutionProblem) -> tuple[int, ...]:
    """The fields of struct Problem."""
    return (
        *problem.input_shape,
        problem.filters,
        *problem.kernel,
        *problem.strides,
        *problem.pads,
        *problem.dilations,
        problem.groups,
        *problem.out_shape[2:],
    )
