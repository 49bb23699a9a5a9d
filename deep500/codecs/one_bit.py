"""One bit per number, and two means per bucket (Seide et al., 1-bit SGD, 2014)."""

from typing import Any

import numpy as np

from ..contracts.codec import Codec, Key, quiet
from ._buckets import bucket_count, in_rows
from ._native import call, width
from ._packing import packed_bytes
from ._sums import row_sums
from .qsgd import check_bucket


class OneBit(Codec):
    """Whether a number is negative; decoded as the mean of the bucket's numbers on its side of zero."""

    bucket: int = 512

    error_feedback = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bucket("OneBit", self.bucket)

    @property
    def contraction(self) -> float:
        """The means keep at least (sum of magnitudes)² / n of the squares of n numbers."""
        return 1 / self.bucket

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        payload = np.empty(self.wire_bytes(x.size, x.dtype), np.uint8)
        means, packed = self._parts(payload, x.size, x.dtype)
        loop = f"one_bit_encode{width(x.dtype)}"
        if not call(loop, x, x.size, self.bucket, means, packed):
            means[:] = self._means(x)
            packed[:] = np.packbits(x >= 0, bitorder="little")
        return payload

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        self.check_payload(payload, size, dtype)
        decoded = np.empty(size, dtype)
        means, packed = self._parts(payload, size, dtype)
        loop = f"one_bit_decode{width(dtype)}"
        if not call(loop, means, packed, size, self.bucket, decoded):
            below = np.repeat(means[0::2], self.bucket)[:size]
            above = np.repeat(means[1::2], self.bucket)[:size]
            positive = np.unpackbits(packed, count=size, bitorder="little")
            decoded[:] = np.where(positive, above, below)
        return decoded

    def accumulate(self, payload: np.ndarray, total: np.ndarray, weight: float = 1.0) -> None:
        self.check_payload(payload, total.size, total.dtype)
        means, packed = self._parts(payload, total.size, total.dtype)
        loop = f"one_bit_add{width(total.dtype)}"
        factor = total.dtype.type(weight)
        if not call(loop, means, packed, total.size, self.bucket, factor, total):
            super().accumulate(payload, total, weight)

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        means = 2 * bucket_count(self.bucket, size) * np.dtype(dtype).itemsize
        return means + packed_bytes(size, 1)

    def _parts(self, payload: np.ndarray, size: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        boundary = 2 * bucket_count(self.bucket, size) * np.dtype(dtype).itemsize
        return payload[:boundary].view(dtype), payload[boundary:]

    def _means(self, x: np.ndarray) -> np.ndarray:
        """Of every bucket the mean of its negative numbers, then of the others; 0 where there are none."""
        rows = in_rows(x, self.bucket)
        positive = rows >= 0
        lengths = np.full(len(rows), rows.shape[1])
        if len(rows):
            lengths[-1] -= rows.size - x.size
        with quiet():
            below = row_sums(np.where(positive, 0, rows))
            above = row_sums(np.where(positive, rows, 0))
        padding = rows.shape[1] - lengths
        above_count = positive.sum(axis=1) - padding
        below_count = lengths - above_count
        means = np.zeros((len(rows), 2))
        np.divide(below, below_count, out=means[:, 0], where=below_count > 0)
        np.divide(above, above_count, out=means[:, 1], where=above_count > 0)
        return means.astype(x.dtype).reshape(-1)
