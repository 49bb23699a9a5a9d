"""The largest numbers of every bucket, with their places."""

import math

import numpy as np

from ..contracts.codec import Key
from ..contracts.device_codec import DeviceCodec
from ..errors import Deep500Error
from ._buckets import bucket_sizes
from ._native import call, width
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
            raise Deep500Error(
                f"ratio of TopK is {self.ratio}: give a share above 0 and up to 1"
            )
        if self.bucket < 0:
            raise Deep500Error(
                f"bucket of TopK is {self.bucket}: give a size, or 0 for no buckets"
            )

    @property
    def contraction(self) -> float:
        return self.ratio

    def on_device(self) -> DeviceCodec:
        from ._top_k_on_device import TopKOnDevice

        return TopKOnDevice(self)

    def take(self, x: np.ndarray, key: Key) -> tuple[np.ndarray, np.ndarray]:
        each, _, rest = bucket_sizes(self.bucket, x.size)
        columns = np.empty(self.most_values(x.size), np.uint32)
        counts = self.chosen(each), self.chosen(rest)
        loop = f"top_k{width(x.dtype)}"
        if not x.size or not call(loop, x, x.size, each, *counts, columns):
            columns = self._columns(x)
        values = x[self._in_buffer(columns.astype(np.int64), x.size)]
        return values, columns.astype(_index_type(each)).view(np.uint8)

    def _columns(self, x: np.ndarray) -> np.ndarray:
        """The indices inside of their buckets, as NumPy finds them."""
        each, full, rest = bucket_sizes(self.bucket, x.size)
        boundary = full * each
        whole = x[:boundary].reshape(full, each)
        columns = _largest(whole, self.chosen(each)).reshape(-1)
        if rest:
            last = _largest(x[boundary:].reshape(1, rest), self.chosen(rest))
            columns = np.concatenate([columns, last.reshape(-1)])
        return columns

    def _in_buffer(self, columns: np.ndarray, size: int) -> np.ndarray:
        """Indices inside of buckets, as indices of the whole buffer."""
        each, full, rest = bucket_sizes(self.bucket, size)
        if full + bool(rest) > 1:
            starts = np.arange(full, dtype=np.int64) * each
            boundary = full * self.chosen(each)
            columns[:boundary] += np.repeat(starts, self.chosen(each))
            columns[boundary:] += full * each
        return columns

    def positions(self, side: np.ndarray, size: int) -> np.ndarray:
        each, _, _ = bucket_sizes(self.bucket, size)
        places = side.view(_index_type(each)).astype(np.int64)
        if places.size and places.max() >= each:
            raise Deep500Error(
                f"a payload of {self} names a place outside of its bucket"
            )
        return self._in_buffer(places, size)

    def side_bytes(self, payload: np.ndarray, size: int) -> int:
        return self.most_side_bytes(size)

    def most_values(self, size: int) -> int:
        each, full, rest = bucket_sizes(self.bucket, size)
        return full * self.chosen(each) + self.chosen(rest)

    def most_side_bytes(self, size: int) -> int:
        each, _, _ = bucket_sizes(self.bucket, size)
        return self.most_values(size) * np.dtype(_index_type(each)).itemsize

    def chosen(self, size: int) -> int:
        """How many of `size` numbers are sent; the product may be above a whole number by rounding."""
        return min(size, math.ceil(self.ratio * size - 1e-9))


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
    place = width - count
    threshold = np.partition(order, place, axis=1)[:, place, None]
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
