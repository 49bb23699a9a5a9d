"""The sign of every number, times the mean magnitude of its bucket (Bernstein et al. 2018; Karimireddy et al. 2019)."""

import numpy as np

from ..contracts.codec import Key, quiet
from ._bucketed import Bucketed, bucket_lengths, check_bucket
from ._buckets import in_rows
from ._sums import row_sums


class Sign(Bucketed):
    """One bit per number, one scale per bucket. A zero in a bucket that is not all zero gets a sign, too.

    Without `feedback` it is sign-SGD, which fails to converge even on simple convex problems.
    """

    bucket: int = 512
    feedback: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bucket("Sign", self.bucket)

    @property
    def bucket_length(self) -> int:
        return self.bucket

    @property
    def error_feedback(self) -> bool:
        return self.feedback

    @property
    def contraction(self) -> float:
        """(sum of magnitudes)² / n of the square of n numbers is kept, which is at least 1/n of it."""
        return 1 / self.bucket

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        bits = np.packbits(x >= 0, bitorder="little")
        return np.concatenate([self._mean_magnitudes(x).view(np.uint8), bits])

    def unpacked(self, scales: np.ndarray, packed: np.ndarray, size: int) -> np.ndarray:
        magnitudes = self.per_element(scales, size)
        positive = np.unpackbits(packed, count=size, bitorder="little")
        return np.where(positive, magnitudes, -magnitudes)

    def _mean_magnitudes(self, x: np.ndarray) -> np.ndarray:
        rows = np.abs(in_rows(x, self.bucket))
        with quiet():
            means = row_sums(rows) / bucket_lengths(rows, x.size)
        return means.astype(x.dtype)
