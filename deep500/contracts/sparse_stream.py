"""A vector, most of whose elements may be zero, as it is sent: indices and values, or all elements."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import Deep500Error

INDEX = np.dtype(np.uint32)


@dataclass(frozen=True, eq=False)
class SparseStream:
    """`values` at ascending `indices` of a vector of `size` elements, or the whole vector without `indices`.

    A value that has become zero by addition is still an entry.
    """

    size: int
    values: np.ndarray
    indices: np.ndarray | None = None

    @property
    def is_dense(self) -> bool:
        return self.indices is None

    @property
    def entries(self) -> int:
        """How many values are sent."""
        return self.values.size

    @property
    def density(self) -> float:
        return self.entries / self.size if self.size else 0.0

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        """The bytes that are sent."""
        return payload_bytes(self.entries, self.dtype, self.is_dense)

    def dense(self) -> np.ndarray:
        """All elements as a new array."""
        if self.indices is None:
            return self.values.copy()
        array = np.zeros(self.size, self.dtype)
        array[self.indices] = self.values
        return array

    def part(self, start: int, stop: int) -> "SparseStream":
        """The elements from `start` to `stop`, as a vector of their own."""
        if self.indices is None:
            return SparseStream(stop - start, self.values[start:stop])
        first, last = np.searchsorted(self.indices, (start, stop))
        indices = self.indices[first:last] - INDEX.type(start)
        return SparseStream(stop - start, self.values[first:last], indices)

    def shorter(self) -> "SparseStream":
        """The same in whichever form has fewer bytes."""
        if self.is_dense or self.entries <= most_sparse(self.size, self.dtype):
            return self
        return SparseStream(self.size, self.dense())

    def payload(self) -> np.ndarray:
        """The bytes that are sent, values first."""
        parts = [np.ascontiguousarray(self.values).view(np.uint8)]
        if self.indices is not None:
            parts.append(self.indices.view(np.uint8))
        return np.concatenate(parts)


def stream_of(array: np.ndarray) -> SparseStream:
    """The elements of an array that are not zero, in the shorter form."""
    check_size(array.size)
    if np.count_nonzero(array) > most_sparse(array.size, array.dtype):
        return SparseStream(array.size, array)
    indices = np.flatnonzero(array)
    return SparseStream(array.size, array[indices], indices.astype(INDEX))


def sparse_stream(indices: Any, values: Any, size: int) -> SparseStream:
    """The stream of a user's indices and values; a Deep500Error says what is wrong with them."""
    check_size(size)
    places, numbers = np.asarray(indices), np.asarray(values)
    if places.shape != numbers.shape or places.ndim != 1:
        raise Deep500Error(
            f"a sparse stream has indices of shape {[*places.shape]} and values of shape {[*numbers.shape]}: give as "
            "many of both, in one dimension"
        )
    is_outside = places.size and (places.min() < 0 or places.max() >= size)
    if (places.size and places.dtype.kind not in "iu") or is_outside:
        raise Deep500Error(
            f"a sparse stream of {size} elements has an index that is none: give whole numbers from 0 to {size - 1}"
        )
    if (np.diff(places.astype(np.int64)) <= 0).any():
        raise Deep500Error(
            "the indices of a sparse stream do not ascend: sort them, and add up the values of equal ones"
        )
    check_numbers(numbers, places)
    return SparseStream(size, numbers, places.astype(INDEX))


def check_numbers(values: np.ndarray, indices: np.ndarray | None = None) -> None:
    """Refuse NaN, which every sum on the way would spread."""
    wrong = np.flatnonzero(np.isnan(values))
    if wrong.size:
        place = wrong[0] if indices is None else indices[wrong[0]]
        raise Deep500Error(
            f"element {place} of a sparse stream is NaN ({wrong.size} in all): find where it comes from; a smaller "
            "learning rate or clipping may help"
        )


def check_size(size: int) -> None:
    if not isinstance(size, int | np.integer) or not 0 <= size <= 1 << 32:
        raise Deep500Error(
            f"a sparse stream of {size!r} elements: give a whole number from 0 to 2^32"
        )


def most_sparse(size: int, dtype: Any) -> int:
    """The entries up to which indices and values are no longer than all elements (delta of SparCML)."""
    itemsize = np.dtype(dtype).itemsize
    return size * itemsize // (INDEX.itemsize + itemsize)


def payload_bytes(entries: int, dtype: Any, is_dense: bool) -> int:
    itemsize = np.dtype(dtype).itemsize
    return entries * (itemsize if is_dense else itemsize + INDEX.itemsize)


def received_stream(
    payload: np.ndarray, entries: int, size: int, dtype: Any
) -> SparseStream:
    """The stream of a payload; `entries` is -1 for a dense one."""
    if entries < 0:
        return SparseStream(size, payload.view(dtype))
    boundary = entries * np.dtype(dtype).itemsize
    values, indices = payload[:boundary].view(dtype), payload[boundary:].view(INDEX)
    return SparseStream(size, values, indices)


def joined(streams: list[SparseStream]) -> SparseStream:
    """Streams of neighbouring parts of a vector as one of all of it, in the shorter form."""
    size = sum(stream.size for stream in streams)
    entries = sum(stream.entries for stream in streams)
    dtype = streams[0].dtype
    if entries > most_sparse(size, dtype):
        return SparseStream(size, np.concatenate([s.dense() for s in streams]))
    start = 0
    all_indices = []
    for stream in streams:
        indices = stream.indices
        if indices is None:
            indices = np.arange(stream.size, dtype=INDEX)
        all_indices.append(indices + INDEX.type(start))
        start += stream.size
    values = np.concatenate([stream.values for stream in streams])
    return SparseStream(size, values, np.concatenate(all_indices))
