"""Codecs with a few floats for every bucket and a few bits for every number."""

from typing import Any, ClassVar

import numpy as np

from ..contracts.codec import Codec
from ..errors import Deep500Error, lacking
from ._buckets import bucket_count
from ._native import call, width
from ._packing import packed_bytes

MOST = 65536


class Bucketed(Codec):
    """A payload is `scales` floats of every bucket, then the codes of all numbers, packed.

    `loops` is the beginning of the names of the loops in C++, and `code_bits` says how many
    bits a code has. Without C++, `unpacked` decodes.
    """

    scales: ClassVar[int] = 1
    loops: ClassVar[str] = ""

    @property
    def bucket_length(self) -> int:
        raise lacking(self, "bucket_length")

    @property
    def code_bits(self) -> int:
        return 1

    def unpacked(self, scales: np.ndarray, packed: np.ndarray, size: int) -> np.ndarray:
        """What these scales and codes stand for, by NumPy."""
        raise lacking(self, "unpacked")

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        self.check_payload(payload, size, dtype)
        scales, packed = self.parts(payload, size, dtype)
        decoded = np.empty(size, dtype)
        loop = self.loop("decode", dtype)
        if call(loop, scales, packed, size, self.bucket_length, decoded):
            return decoded
        return self.unpacked(scales, packed, size)

    def accumulate(
        self, payload: np.ndarray, total: np.ndarray, weight: float = 1.0
    ) -> None:
        self.check_payload(payload, total.size, total.dtype)
        scales, packed = self.parts(payload, total.size, total.dtype)
        factor = total.dtype.type(weight)
        loop = self.loop("add", total.dtype)
        if not call(
            loop, scales, packed, total.size, self.bucket_length, factor, total
        ):
            super().accumulate(payload, total, weight)

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        code_bytes = packed_bytes(size, self.code_bits)
        return self.scale_bytes(size, dtype) + code_bytes

    def scale_bytes(self, size: int, dtype: Any) -> int:
        count = self.scales * bucket_count(self.bucket_length, size)
        return count * np.dtype(dtype).itemsize

    def parts(
        self, payload: np.ndarray, size: int, dtype: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """The scales and the packed codes, without a copy."""
        boundary = self.scale_bytes(size, dtype)
        return payload[:boundary].view(dtype), payload[boundary:]

    def loop(self, action: str, dtype: Any) -> str:
        """The name of a loop in C++; empty for a codec that has none."""
        if not self.loops:
            return ""
        return f"{self.loops}_{action}{width(dtype)}_{self.code_bits}"

    def per_element(self, scales: np.ndarray, size: int) -> np.ndarray:
        """The scale of every element, from one for each bucket."""
        return np.repeat(scales, self.bucket_length)[:size]


def bucket_lengths(rows: np.ndarray, size: int) -> np.ndarray:
    """How many elements every row has; the last may be filled up with zeros."""
    lengths = np.full(len(rows), rows.shape[1])
    if len(rows):
        lengths[-1] -= rows.size - size
    return lengths


def check_bucket(name: str, bucket: int) -> None:
    """Refuse a bucket whose codes would share a byte with the next one's."""
    if not 8 <= bucket <= MOST or bucket % 8:
        raise Deep500Error(
            f"bucket of {name} is {bucket}: give a multiple of 8 from 8 to {MOST}"
        )
