"""The IDX format of MNIST and its successors: a magic number, the sizes, then bytes; plain or gzipped."""

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..errors import Deep500Error
from ._files import MOST_BYTES, shown

UNSIGNED_BYTES = 8  # the code of the only element type that these data sets have


def read_idx(path: Path, dimensions: int) -> np.ndarray:
    """The bytes of an IDX file as an array: a memory map, or in memory if the file is gzipped."""
    if path.suffix == ".gz":
        return _unpacked(path, dimensions)
    with open(path, "rb") as file:
        shape = _shape(file, path, dimensions)
    header = 4 + 4 * dimensions
    size = path.stat().st_size
    if size != header + math.prod(shape):
        raise _wrong_size(path, shape, size - header)
    return np.memmap(path, np.uint8, "r", header, shape)


def _unpacked(path: Path, dimensions: int) -> np.ndarray:
    """Unpacks what the header announces and not more, so that a small file cannot fill the memory."""
    try:
        with gzip.open(path, "rb") as file:
            shape = _shape(file, path, dimensions)
            size = math.prod(shape)
            if size > MOST_BYTES:
                raise Deep500Error(
                    f"{shown(path)} announces {size} bytes, and at most {MOST_BYTES} are unpacked"
                )
            contents = file.read(size)
            more = file.read(1)  # at the end, the checksum is compared
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise Deep500Error(
            f"{shown(path)} is truncated or damaged: {error}; copy it again"
        ) from None
    if len(contents) != size or more:
        raise _wrong_size(path, shape, len(contents) + len(more))
    return np.frombuffer(contents, np.uint8).reshape(shape)


def _shape(
    file: BinaryIO | gzip.GzipFile, path: Path, dimensions: int
) -> tuple[int, ...]:
    """The sizes that the header announces."""
    magic = struct.pack(">HBB", 0, UNSIGNED_BYTES, dimensions)
    start = file.read(4)
    if start != magic:
        raise Deep500Error(
            f"{shown(path)} begins with {start.hex() or 'nothing'}, and an IDX file of bytes with "
            f"{dimensions} dimensions begins with {magic.hex()}"
        )
    sizes = file.read(4 * dimensions)
    if len(sizes) != 4 * dimensions:
        raise Deep500Error(f"{shown(path)} is truncated: it ends within its header")
    shape = struct.unpack(f">{dimensions}I", sizes)
    if 0 in shape:
        raise Deep500Error(
            f"{shown(path)} is empty: its header announces the shape {shape}"
        )
    return shape


def _wrong_size(path: Path, shape: tuple[int, ...], size: int) -> Deep500Error:
    wanted = math.prod(shape)
    fault = "is truncated" if size < wanted else "is too long"
    return Deep500Error(
        f"{shown(path)} {fault}: the shape {shape} needs {wanted} bytes after the header, and "
        f"there are {size if size < wanted else 'more'}"
    )
