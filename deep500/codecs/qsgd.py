"""Quantisation with stochastic rounding (Alistarh et al., QSGD, 2017)."""

import math
from typing import Any, Literal

import numpy as np

from ..contracts.codec import Codec, Key, quiet
from ..errors import Deep500Error
from ._buckets import bucket_count, in_rows
from ._native import call, width
from ._packing import pack, packed_bytes, unpack
from ._random import uniform
from ._sums import row_sums

BITS = (2, 4, 8)
MOST = 65536


class QSGD(Codec):
    """Every number as a whole number of levels of its bucket's norm, rounded up or down by chance.

    Of b bits one holds the sign: there are s = 2^(b-1) - 1 levels. The norm of a bucket is
    its largest magnitude (`norm="max"`) or its Euclidean length (`norm="l2"`, as in the
    paper). A payload is all norms, then all levels, packed.
    """

    bits: int = 4
    bucket: int = 512
    norm: Literal["max", "l2"] = "max"

    unbiased = True  # up to 2**-17 of a level, half a step of the random numbers

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bits not in BITS:
            raise Deep500Error(f"bits of QSGD is {self.bits}: give 2, 4 or 8")
        check_bucket("QSGD", self.bucket)
        if self.norm not in ("max", "l2"):
            raise Deep500Error(f"norm of QSGD is {self.norm!r}: give 'max' or 'l2'")

    @property
    def levels(self) -> int:
        return 2 ** (self.bits - 1) - 1

    @property
    def variance(self) -> float:
        """For "max" the worst bucket has one large number, and all others at one small value."""
        ratio = self.bucket / self.levels**2
        if self.norm == "max":
            return (math.sqrt(1 + ratio) - 1) / 2
        return min(ratio, math.sqrt(self.bucket) / self.levels)

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        payload = np.empty(self.wire_bytes(x.size, x.dtype), np.uint8)
        norms, packed = self._parts(payload, x.size, x.dtype)
        words = key.words()
        loop = f"qsgd_encode{width(x.dtype)}_{self.bits}"
        euclidean = self.norm == "l2"
        if not call(loop, x, x.size, self.bucket, euclidean, *words, norms, packed):
            scales = self._norms(x)
            norms[:] = scales
            packed[:] = pack(self._codes(x, scales, words), self.bits)
        return payload

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        self.check_payload(payload, size, dtype)
        decoded = np.empty(size, dtype)
        norms, packed = self._parts(payload, size, dtype)
        loop = f"qsgd_decode{width(dtype)}_{self.bits}"
        if not call(loop, norms, packed, size, self.bucket, decoded):
            levels = unpack(packed, self.bits, size).astype(dtype) - decoded.dtype.type(self.levels)
            steps = np.repeat(norms / decoded.dtype.type(self.levels), self.bucket)[:size]
            decoded[:] = levels * steps
        return decoded

    def accumulate(self, payload: np.ndarray, total: np.ndarray, weight: float = 1.0) -> None:
        self.check_payload(payload, total.size, total.dtype)
        norms, packed = self._parts(payload, total.size, total.dtype)
        loop = f"qsgd_add{width(total.dtype)}_{self.bits}"
        factor = total.dtype.type(weight)
        if not call(loop, norms, packed, total.size, self.bucket, factor, total):
            super().accumulate(payload, total, weight)

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        norms = bucket_count(self.bucket, size) * np.dtype(dtype).itemsize
        return norms + packed_bytes(size, self.bits)

    def _parts(self, payload: np.ndarray, size: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        boundary = bucket_count(self.bucket, size) * np.dtype(dtype).itemsize
        return payload[:boundary].view(dtype), payload[boundary:]

    def _norms(self, x: np.ndarray) -> np.ndarray:
        """The norm of every bucket; NaN where it has something that is not finite."""
        rows = np.abs(in_rows(x, self.bucket))
        largest = rows.max(axis=1, initial=0)
        norms = largest
        if self.norm == "l2":
            unit = np.where(largest > 0, largest, 1).astype(np.float64)
            with quiet():
                squares = (rows / unit[:, None]) ** 2
                norms = (unit * np.sqrt(row_sums(squares))).astype(x.dtype)
            norms = np.where(largest == 0, largest, norms)
        return np.where(np.isfinite(norms) & np.isfinite(largest), norms, np.nan).astype(x.dtype)

    def _codes(self, x: np.ndarray, norms: np.ndarray, words: tuple[int, int]) -> np.ndarray:
        real = x.dtype.type
        scale = np.repeat(norms, self.bucket)[: x.size]
        usable = scale > 0
        safe = np.where(usable, scale, real(1))
        magnitudes = np.where(usable, np.abs(x), real(0))
        exact = (magnitudes / safe) * real(self.levels)
        raised = exact + uniform(words, x.size, x.dtype)
        level = np.minimum(raised.astype(np.int64), self.levels)
        level[~usable] = 0
        return np.where(x < 0, self.levels - level, self.levels + level).astype(np.uint8)


def check_bucket(name: str, bucket: int) -> None:
    """Refuse a bucket whose codes would share a byte with the next one's."""
    if not 8 <= bucket <= MOST or bucket % 8:
        raise Deep500Error(f"bucket of {name} is {bucket}: give a multiple of 8 from 8 to {MOST}")
