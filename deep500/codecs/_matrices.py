"""Which parts of a buffer are matrices, and which stay as they are."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..contracts.layout import Slot


@dataclass(frozen=True)
class Matrix:
    """A part of a flat buffer that is seen as rows and columns."""

    name: str
    start: int
    rows: int
    columns: int

    @property
    def stop(self) -> int:
        return self.start + self.rows * self.columns

    def of(self, buffer: np.ndarray) -> np.ndarray:
        """The matrix in this buffer, without a copy."""
        return buffer[self.start : self.stop].reshape(self.rows, self.columns)


@dataclass(frozen=True)
class Division:
    """A buffer cut into matrices that are coded and stretches that are sent as they are."""

    matrices: tuple[Matrix, ...]
    dense: tuple[tuple[int, int], ...]

    @property
    def dense_size(self) -> int:
        return sum(stop - start for start, stop in self.dense)

    def dense_values(self, buffer: np.ndarray) -> list[np.ndarray]:
        return [buffer[start:stop] for start, stop in self.dense]

    def put_dense(self, values: np.ndarray, buffer: np.ndarray) -> None:
        """Write the values of `dense_values`, one after another, to where they belong."""
        at = 0
        for start, stop in self.dense:
            buffer[start:stop] = values[at : at + stop - start]
            at += stop - start


def divide(
    size: int,
    slots: Sequence[Slot],
    pays: Callable[[int, int], bool],
    most_axes: int = 9,
) -> Division:
    """Tensors of 2 to `most_axes` axes for which coding pays (rows, columns) are matrices.

    The rest is dense. Without slots the buffer is one vector.
    """
    matrices: list[Matrix] = []
    dense: list[tuple[int, int]] = []
    for slot in slots:
        rows = slot.shape[0] if 2 <= len(slot.shape) <= most_axes else 0
        columns = math.prod(slot.shape[1:])
        if rows and columns and pays(rows, columns):
            matrices.append(Matrix(slot.name, slot.offset, rows, columns))
        elif slot.stop > slot.offset:
            dense.append((slot.offset, slot.stop))
    if not slots and size:
        dense.append((0, size))
    return Division(tuple(matrices), tuple(dense))


def nearly_square(x: np.ndarray) -> np.ndarray:
    """A flat array as the matrix of its size that is nearest to a square, with zeros behind its end."""
    rows = math.isqrt(x.size)
    columns = -(-x.size // max(1, rows))
    matrix = np.zeros((rows, columns), x.dtype)
    matrix.reshape(-1)[: x.size] = x
    return matrix


def nearly_square_shape(size: int) -> tuple[int, int]:
    rows = math.isqrt(size)
    return rows, -(-size // max(1, rows))
