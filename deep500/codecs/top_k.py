"""The largest numbers of every bucket, with their places."""

import math

import numpy as np

from ..contracts.codec import Key
from ..errors import Deep500Error
from ._buckets import bucket_sizes
from ._selection import Selection


class TopK(Selection):
    """The share `ratio` of the numbers of a bucket, rounded up, that are largest in magnitude.

    Exactly so many, also among equal numbers: then those with the lower index. NaN counts
    as larger than any number. `bucket` 0 stands for the whole buffer.
    """

    ratio: float = 0.01
    bucket: int = 0

    error_feedback = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.ratio <= 1:
            raise Deep500Error(f"ratio of TopK is {self.ratio}: give a share above 0 and up to 1")
        if self.bucket < 0:
            raise Deep500Error(f"bucket of TopK is {self.bucket}: give a size, or 0 for no buckets")

    @property
    def contraction(self) -> float:
        return self.ratio

    def take(self, x: np.ndarray, key: Key) -> tuple[np.ndarray, np.ndarray]:
        each, full, rest = bucket_sizes(self.bucket, x.size)
        boundary = full * each
        rows = [_largest(x[:boundary].reshape(full, each), self._chosen(each))]
        if rest:
            rows.append(_largest(x[boundary:].reshape(1, rest), self._chosen(rest)))
        places = np.concatenate([row.reshape(-1) for row in rows])
        indices = places.astype(_index_type(each))
        starts = np.repeat(self._starts(x.size), self._counts(x.size))
        return x[places + starts], indices.view(np.uint8)

    def positions(self, side: np.ndarray, size: int) -> np.ndarray:
        each, _, _ = bucket_sizes(self.bucket, size)
        places = side.view(_index_type(each)).astype(np.int64)
        if places.size and places.max() >= each:
            raise Deep500Error(f"a payload of {self} names a place outside of its bucket")
        places += np.repeat(self._starts(size), self._counts(size))
        return places

    def side_bytes(self, payload: np.ndarray, size: int) -> int:
        return self.most_side_bytes(size)

    def most_values(self, size: int) -> int:
        each, full, rest = bucket_sizes(self.bucket, size)
        return full * self._chosen(each) + self._chosen(rest)

    def most_side_bytes(self, size: int) -> int:
        each, _, _ = bucket_sizes(self.bucket, size)
        return self.most_values(size) * np.dtype(_index_type(each)).itemsize

    def _chosen(self, size: int) -> int:
        """How many of `size` numbers are sent; the product may be above a whole number by rounding."""
        return min(size, math.ceil(self.ratio * size - 1e-9))

    def _starts(self, size: int) -> np.ndarray:
        each, full, rest = bucket_sizes(self.bucket, size)
        return np.arange(full + bool(rest), dtype=np.int64) * each

    def _counts(self, size: int) -> np.ndarray:
        each, full, rest = bucket_sizes(self.bucket, size)
        counts = [self._chosen(each)] * full
        if rest:
            counts.append(self._chosen(rest))
        return np.array(counts, np.int64)


def _index_type(bucket: int) -> type[np.unsignedinteger]:
    """The smallest type that holds every index of a bucket."""
    if bucket <= 2**8:
        return np.uint8
    return np.uint16 if bucket <= 2**16 else np.uint32


def _largest(rows: np.ndarray, count: int) -> np.ndarray:
    """The columns of the `count` largest magnitudes of every row, in ascending order."""
    width = rows.shape[1]
    if count >= width:
        return np.broadcast_to(np.arange(width), rows.shape)
    order = magnitude_order(rows)
    threshold = np.partition(order, width - count, axis=1)[:, width - count, None]
    above = order > threshold
    level = order == threshold
    missing = count - above.sum(axis=1, keepdims=True)
    chosen = above | (level & (np.cumsum(level, axis=1) <= missing))
    return np.nonzero(chosen)[1].reshape(len(rows), count)


def magnitude_order(x: np.ndarray) -> np.ndarray:
    """Unsigned integers that are ordered as the magnitudes of x: its bits without the sign."""
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    sign = unsigned.type(1 << (8 * x.dtype.itemsize - 1))
    return x.view(unsigned) & ~sign
