"""Columns over arrays and memory maps: rows that are chosen, pixels that become numbers from 0 to 1."""

import hashlib
from collections.abc import Sequence

import numpy as np

from ..contracts.dataset import Bounds, Column, chunks, update_digest


class Rows(Column):
    """Some rows of an array or a memory map, which is not copied."""

    def __init__(self, source: np.ndarray, rows: np.ndarray):
        self.source = np.asarray(
            source
        )  # indexing a np.memmap makes another one every time
        self.rows = rows
        self.shape = (len(rows), *source.shape[1:])
        self.dtype = source.dtype

    def read(self, indices: np.ndarray, out: np.ndarray) -> None:
        # the indices have been checked; with "raise", NumPy would write to a buffer first
        np.take(self.source, self.rows[indices], axis=0, out=out, mode="clip")

    def digest(self) -> str:
        return digest_of_elements(self)


class Pixels(Column):
    """Some rows of arrays of bytes, as float32 from 0 to 1; the arrays follow each other."""

    def __init__(self, parts: Sequence[np.ndarray], rows: np.ndarray):
        self.parts = [np.asarray(part) for part in parts]
        self.starts = np.cumsum([0, *(len(part) for part in parts)])
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
            chosen = numbers == number
            pixels = self.parts[number][rows[chosen] - self.starts[number]]
            out[chosen] = pixels * SCALE

    def digest(self) -> str:
        return digest_of_elements(self)

    def bounds(self) -> Bounds:
        return Bounds(0.0, 1.0)


class Windows(Column):
    """Every `length` tokens of a text, `stride` after the ones before; from the token `first` on."""

    def __init__(
        self, tokens: np.ndarray, first: int, count: int, length: int, stride: int
    ):
        self.tokens = tokens
        self.first = first
        self.stride = stride
        self.shape = (count, length)
        self.dtype = np.dtype(np.int64)

    def read(self, indices: np.ndarray, out: np.ndarray) -> None:
        starts = self.first + indices * self.stride
        out[:] = self.tokens[starts[:, None] + np.arange(self.shape[1])]

    def digest(self) -> str:
        return digest_of_elements(self)


def digest_of_elements(column: Column) -> str:
    """SHA-256 of all elements in order."""
    total = hashlib.sha256()
    for part in chunks(column):
        update_digest(total, part)
    return total.hexdigest()


SCALE = np.float32(1 / 255)
