"""Reads the IDX format of MNIST and its successors: a magic number, the sizes, then bytes; plain or gzipped."""

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..errors import Deep500Error
from ._files import MOST_BYTES, printable_path

UNSIGNED_BYTES = 8  # the code of the only element type that these data sets use


def read_idx(path: Path, dimensions: int) -> np.ndarray:
    """The contents of an IDX file: as a memory map, or in memory if the file is gzipped."""
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
    """Decompress as much as the header announces and no more, so that a small file cannot fill the memory."""
    try:
        with gzip.open(path, "rb") as file:
            shape = _shape(file, path, dimensions)
            size = math.prod(shape)
            if size > MOST_BYTES:
                raise Deep500Error(
                    f"{printable_path(path)} announces {size} bytes, and at most {MOST_BYTES} are unpacked"
                )
            contents = file.read(size)
            # reading to the end also verifies the checksum
            surplus = file.read(1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise Deep500Error(
            f"{printable_path(path)} is truncated or damaged: {error}; copy it again"
        ) from None
    if len(contents) != size or surplus:
        raise _wrong_size(path, shape, len(contents) + len(surplus))
    elements = np.frombuffer(contents, np.uint8)
    return elements.reshape(shape)


def _shape(
    file: BinaryIO | gzip.GzipFile, path: Path, dimensions: int
) -> tuple[int, ...]:
    """The shape that the header announces; raises a Deep500Error if the header is malformed."""
    magic = struct.pack(">HBB", 0, UNSIGNED_BYTES, dimensions)
    start = file.read(4)
    if start != magic:
        start_text = start.hex() or "nothing"
        raise Deep500Error(
            f"{printable_path(path)} begins with {start_text}, and an IDX file of bytes with "
            f"{dimensions} dimensions begins with {magic.hex()}"
        )
    sizes = file.read(4 * dimensions)
    if len(sizes) != 4 * dimensions:
        raise Deep500Error(
            f"{printable_path(path)} is truncated: it ends within its header"
        )
    shape = struct.unpack(f">{dimensions}I", sizes)
    if 0 in shape:
        raise Deep500Error(
            f"{printable_path(path)} is empty: its header announces the shape {shape}"
        )
    return shape


def _wrong_size(path: Path, shape: tuple[int, ...], size: int) -> Deep500Error:
    needed = math.prod(shape)
    fault, amount = "is too long", "more"
    if size < needed:
        fault, amount = "is truncated", str(size)
    return Deep500Error(
        f"{printable_path(path)} {fault}: the shape {shape} needs {needed} bytes after the header, and "
        f"there are {amount}"
    )
