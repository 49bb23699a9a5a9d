"""The bytes of any codec, packed without loss: `QSGD(bits=2) | Lossless()`."""

from typing import Any

import numpy as np

from ..contracts.codec import Codec, Key
from .lossless import Lossless


class Packed(Codec):
    """What the first codec sends, in fewer bytes; it stays what it is, but its sums cannot be made on the way."""

    first: Codec
    second: Lossless

    fixed_size = False

    def __str__(self) -> str:
        return f"{self.first} | {self.second}"

    @property
    def unbiased(self) -> bool:
        return self.first.unbiased

    @property
    def variance(self) -> float | None:
        return self.first.variance

    @property
    def contraction(self) -> float | None:
        return self.first.contraction

    @property
    def error_feedback(self) -> bool:
        return self.first.error_feedback

    @property
    def largest(self) -> float:
        return self.first.largest

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        return self.second.pack(self.first.encoded(x, key))

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        content = self._unpacked(payload, size, dtype)
        return self.first.decoded(content, size, dtype)

    def accumulate(
        self, payload: np.ndarray, total: np.ndarray, weight: float = 1.0
    ) -> None:
        content = self._unpacked(payload, total.size, total.dtype)
        self.first.accumulate(content, total, weight)

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        return self.second.most_packed(self.first.wire_bytes(size, dtype))

    def least_wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        return 1

    def _unpacked(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        self.check_payload(payload, size, dtype)
        return self.second.unpack(payload, self.first.wire_bytes(size, dtype))
