"""The same bits in fewer bytes: bytes of equal significance side by side, then zlib."""

import zlib
from typing import Any

import numpy as np

from ..contracts.codec import Codec, Key
from ..errors import Deep500Error

RAW, DEFLATED = 0, 1  # the first byte of a payload


class Lossless(Codec):
    """Decoded to the same bits. As the last part of a chain it packs the bytes of the codec before it.

    A payload that zlib does not make smaller is sent as it is, behind one byte that says so.
    """

    level: int = 1

    unbiased = True
    variance = 0.0
    contraction = 1.0
    fixed_size = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.level <= 9:
            raise Deep500Error(
                f"level of Lossless is {self.level}: give 0 (fast) to 9 (small)"
            )

    def behind(self, first: Codec) -> Codec:
        from .packed import Packed

        return Packed(first, self)

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        significance = x.view(np.uint8).reshape(x.size, x.dtype.itemsize)
        return self.pack(np.ascontiguousarray(significance.T).reshape(-1))

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        self.check_payload(payload, size, dtype)
        each = np.dtype(dtype).itemsize
        content = self.unpack(payload, size * each)
        if content.size != size * each:
            raise Deep500Error(
                f"a payload of {self} holds {content.size} bytes, not {size * each}"
            )
        # not the payload's memory
        elements = content.reshape(each, size).T.copy()
        return elements.reshape(-1).view(dtype)

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        return self.most_packed(size * np.dtype(dtype).itemsize)

    def least_wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        return 1

    def most_packed(self, count: int) -> int:
        """The most bytes that so many become."""
        return 1 + count

    def pack(self, content: np.ndarray) -> np.ndarray:
        """These bytes, smaller if possible."""
        deflated = zlib.compress(content.tobytes(), self.level)
        if len(deflated) >= content.size:
            return np.concatenate([np.array([RAW], np.uint8), content])
        payload = np.frombuffer(deflated, np.uint8)
        return np.concatenate([np.array([DEFLATED], np.uint8), payload])

    def unpack(self, payload: np.ndarray, most: int) -> np.ndarray:
        """The bytes that were packed; more than `most` are refused before they take memory."""
        if payload.size and payload[0] == RAW:
            return payload[1:]
        inflater = zlib.decompressobj()
        try:
            content = inflater.decompress(payload[1:].tobytes(), most + 1)
        except zlib.error as error:
            raise Deep500Error(
                f"a payload of {self} cannot be unpacked: {error}"
            ) from None
        if len(content) > most or not inflater.eof:
            raise Deep500Error(f"a payload of {self} does not end after {most} bytes")
        return np.frombuffer(content, np.uint8).copy()
