"""The sign of every number, times the mean magnitude of its bucket (Bernstein et al. 2018; Karimireddy et al. 2019)."""

from typing import Any

import numpy as np

from ..contracts.codec import Codec, Key, quiet
from ._buckets import bucket_count, in_rows
from ._packing import packed_bytes
from ._sums import row_sums
from .qsgd import check_bucket


class Sign(Codec):
    """One bit per number, one scale per bucket. A zero in a bucket that is not all zero gets a sign, too.

    Without `feedback` it is sign-SGD, which fails to converge even on simple convex problems.
    """

    bucket: int = 512
    feedback: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bucket("Sign", self.bucket)

    @property
    def error_feedback(self) -> bool:
        return self.feedback

    @property
    def contraction(self) -> float:
        """(sum of magnitudes)² / n of the square of n numbers is kept, which is at least 1/n of it."""
        return 1 / self.bucket

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        bits = np.packbits(x >= 0, bitorder="little")
        return np.concatenate([self._scales(x).view(np.uint8), bits])

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        self.check_payload(payload, size, dtype)
        boundary = bucket_count(self.bucket, size) * np.dtype(dtype).itemsize
        scales = np.repeat(payload[:boundary].view(dtype), self.bucket)[:size]
        positive = np.unpackbits(payload[boundary:], count=size, bitorder="little")
        return np.where(positive, scales, -scales)

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        scales = bucket_count(self.bucket, size) * np.dtype(dtype).itemsize
        return scales + packed_bytes(size, 1)

    def _scales(self, x: np.ndarray) -> np.ndarray:
        """The mean magnitude of every bucket."""
        rows = np.abs(in_rows(x, self.bucket))
        lengths = np.full(len(rows), rows.shape[1])
        if len(rows):
            lengths[-1] -= rows.size - x.size
        with quiet():
            return (row_sums(rows) / lengths).astype(x.dtype)
