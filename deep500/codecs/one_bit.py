"""One bit per number, and two means per bucket (Seide et al., 1-bit SGD, 2014)."""

import numpy as np

from ..contracts.codec import Key, quiet
from ._bucketed import Bucketed, bucket_lengths, check_bucket
from ._buckets import in_rows
from ._native import call
from ._sums import row_sums


class OneBit(Bucketed):
    """Whether a number is negative; decoded as the mean of the bucket's numbers on its side of zero."""

    bucket: int = 512

    scales = 2
    loops = "one_bit"
    error_feedback = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bucket("OneBit", self.bucket)

    @property
    def bucket_length(self) -> int:
        return self.bucket

    @property
    def contraction(self) -> float:
        """The means keep at least (sum of magnitudes)² / n of the squares of n numbers."""
        return 1 / self.bucket

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        payload = np.empty(self.wire_bytes(x.size, x.dtype), np.uint8)
        means, packed = self.parts(payload, x.size, x.dtype)
        loop = self.loop("encode", x.dtype)
        if not call(loop, x, x.size, self.bucket, means, packed):
            means[:] = self._means(x)
            packed[:] = np.packbits(x >= 0, bitorder="little")
        return payload

    def unpacked(self, scales: np.ndarray, packed: np.ndarray, size: int) -> np.ndarray:
        below = self.per_element(scales[0::2], size)
        above = self.per_element(scales[1::2], size)
        positive = np.unpackbits(packed, count=size, bitorder="little")
        return np.where(positive, above, below)

    def _means(self, x: np.ndarray) -> np.ndarray:
        """Of every bucket the mean of its negative numbers, then of the others; 0 where there are none."""
        rows = in_rows(x, self.bucket)
        positive = rows >= 0
        with quiet():
            below = row_sums(np.where(positive, 0, rows))
            above = row_sums(np.where(positive, rows, 0))
        lengths = bucket_lengths(rows, x.size)
        padding = rows.shape[1] - lengths
        above_count = positive.sum(axis=1) - padding
        below_count = lengths - above_count
        means = np.zeros((len(rows), 2))
        np.divide(below, below_count, out=means[:, 0], where=below_count > 0)
        np.divide(above, above_count, out=means[:, 1], where=above_count > 0)
        return means.astype(x.dtype).reshape(-1)
