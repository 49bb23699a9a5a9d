"""Quantisation with stochastic rounding (Alistarh et al., QSGD, 2017)."""

import math
from typing import Literal

import numpy as np

from ..contracts.codec import Key, quiet
from ..contracts.device_codec import DeviceCodec
from ..errors import Deep500Error
from ._bucketed import Bucketed, check_bucket
from ._buckets import in_rows
from ._native import call
from ._packing import pack, unpack
from ._random import uniform
from ._sums import row_sums

BITS = (2, 4, 8)


class QSGD(Bucketed):
    """Every number as a whole number of levels of its bucket's norm, rounded up or down by chance.

    Of b bits one holds the sign: there are s = 2^(b-1) - 1 levels. The norm of a bucket is
    its largest magnitude (`norm="max"`) or its Euclidean length (`norm="l2"`, as in the
    paper). A payload is all norms, then all levels, packed.
    """

    bits: int = 4
    bucket: int = 512
    norm: Literal["max", "l2"] = "max"

    loops = "qsgd"
    # up to 2**-17 of a level, half a step of the random numbers
    unbiased = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bits not in BITS:
            raise Deep500Error(f"bits of QSGD is {self.bits}: give 2, 4 or 8")
        check_bucket("QSGD", self.bucket)
        if self.norm not in ("max", "l2"):
            raise Deep500Error(f"norm of QSGD is {self.norm!r}: give 'max' or 'l2'")

    @property
    def bucket_length(self) -> int:
        return self.bucket

    @property
    def code_bits(self) -> int:
        return self.bits

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

    def on_device(self) -> DeviceCodec:
        from ._qsgd_on_device import QSGDOnDevice

        return QSGDOnDevice(self)

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        payload = np.empty(self.wire_bytes(x.size, x.dtype), np.uint8)
        norms, packed = self.parts(payload, x.size, x.dtype)
        words = key.words()
        loop = self.loop("encode", x.dtype)
        euclidean = self.norm == "l2"
        if call(loop, x, x.size, self.bucket, euclidean, *words, norms, packed):
            return payload
        norms[:] = self.norms_of(x)
        codes = self._codes(x, norms, words)
        packed[:] = pack(codes, self.bits)
        return payload

    def unpacked(self, scales: np.ndarray, packed: np.ndarray, size: int) -> np.ndarray:
        levels = scales.dtype.type(self.levels)
        codes = unpack(packed, self.bits, size).astype(scales.dtype)
        # the largest number may round to infinity
        with np.errstate(over="ignore"):
            return (codes - levels) * self.per_element(scales / levels, size)

    def norms_of(self, x: np.ndarray) -> np.ndarray:
        """The norm of every bucket; NaN where it has something that is not finite."""
        rows = np.abs(in_rows(x, self.bucket))
        largest = rows.max(axis=1, initial=0)
        norms = largest
        if self.norm == "l2":
            norms = _lengths(rows, largest)
        usable = np.isfinite(norms) & np.isfinite(largest)
        return np.where(usable, norms, np.nan).astype(x.dtype)

    def _codes(
        self, x: np.ndarray, norms: np.ndarray, words: tuple[int, int]
    ) -> np.ndarray:
        real = x.dtype.type
        scale = self.per_element(norms, x.size)
        usable = scale > 0
        safe = np.where(usable, scale, real(1))
        magnitudes = np.where(usable, np.abs(x), real(0))
        exact = (magnitudes / safe) * real(self.levels)
        raised = exact + uniform(words, x.size, x.dtype)
        level = np.minimum(raised.astype(np.int64), self.levels)
        level[~usable] = 0
        signed = np.where(x < 0, -level, level)
        return (signed + self.levels).astype(np.uint8)


def _lengths(rows: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """The Euclidean length of every row, without an overflow on the way."""
    unit = np.where(largest > 0, largest, 1).astype(np.float64)
    with quiet():
        squares = (rows / unit[:, None]) ** 2
        lengths = (unit * np.sqrt(row_sums(squares))).astype(rows.dtype)
    return np.where(largest == 0, largest, lengths)
