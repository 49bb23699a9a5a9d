"""Columns over arrays and memory maps: selected rows, pixels scaled to 0 to 1, windows of a text."""

import hashlib
from collections.abc import Sequence

import numpy as np

from ..contracts.dataset import Bounds, Column, chunks
from ..hashing.array_digest import update_digest


class RowsColumn(Column):
    """Some rows of an array or a memory map, which is not copied."""

    def __init__(self, source: np.ndarray, rows: np.ndarray):
        # an ndarray, since indexing an np.memmap creates another one every time
        self.source = np.asarray(source)
        self.rows = rows
        self.shape = (len(rows), *source.shape[1:])
        self.dtype = source.dtype

    def read(self, indices: np.ndarray, out: np.ndarray) -> None:
        # the indices have been checked; with "raise", NumPy would write to a buffer first
        np.take(self.source, self.rows[indices], axis=0, out=out, mode="clip")

    def digest(self) -> str:
        return digest_of_elements(self)


class Pixels(Column):
    """Some rows of the concatenation of arrays of bytes, as float32 from 0 to 1."""

    def __init__(self, parts: Sequence[np.ndarray], rows: np.ndarray):
        self.parts = [np.asarray(part) for part in parts]
        lengths = [len(part) for part in parts]
        self.starts = np.cumsum([0, *lengths])
        self.rows = rows
        self.shape = (len(rows), *parts[0].shape[1:])
        self.dtype = np.dtype(np.float32)

    def read(self, indices: np.ndarray, out: np.ndarray) -> None:
        rows = self.rows[indices]
        if len(self.parts) == 1:
            np.multiply(self.parts[0][rows], SCALE, out=out)
            return
        numbers = np.searchsorted(self.starts, rows, side="right") - 1
        for number in np.unique(numbers):
            in_part = numbers == number
            part_rows = rows[in_part] - self.starts[number]
            pixels = self.parts[number][part_rows]
            out[in_part] = pixels * SCALE

    def digest(self) -> str:
        return digest_of_elements(self)

    def bounds(self) -> Bounds:
        return Bounds(0.0, 1.0)


class WindowsColumn(Column):
    """Windows of `length` tokens of a text, which start `stride` tokens apart, the first at token `first`."""

    def __init__(
        self,
        tokens: np.ndarray,
        first: int,
        count: int,
        length: int,
        stride: int,
    ):
        self.tokens = tokens
        self.first = first
        self.stride = stride
        self.shape = (count, length)
        self.dtype = np.dtype(np.int64)

    def read(self, indices: np.ndarray, out: np.ndarray) -> None:
        starts = self.first + indices * self.stride
        positions = starts[:, None] + np.arange(self.shape[1])
        out[:] = self.tokens[positions]

    def digest(self) -> str:
        return digest_of_elements(self)


def digest_of_elements(column: Column) -> str:
    """SHA-256 of all elements of a column, in order."""
    total = hashlib.sha256()
    for part in chunks(column):
        update_digest(total, part)
    return total.hexdigest()


SCALE = np.float32(1 / 255)
