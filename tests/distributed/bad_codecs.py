"""Codecs in Python that return what nobody can use, and an honest one; `d5 check codec` reads them from this file."""

from typing import Any

import numpy as np

from deep500.contracts.codec import Codec, Key


class Halves(Codec):
    """Honest: the bits of the numbers, rounded at random by the key's own generator."""

    error_feedback = True

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        largest = np.abs(x).max(initial=0)
        scale = x.dtype.type(largest / 127 if np.isfinite(largest) else np.nan)
        levels = np.zeros(x.size, np.int8)
        if np.isfinite(scale) and scale > 0:
            draws = key.generator().random(x.size)
            levels = np.clip(np.floor(x / scale + draws), -127, 127).astype(np.int8)
        return np.concatenate([np.array([scale]).view(np.uint8), levels.view(np.uint8)])

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        self.check_payload(payload, size, dtype)
        boundary = np.dtype(dtype).itemsize
        scale = payload[:boundary].view(dtype)[0]
        return payload[boundary:].view(np.int8).astype(dtype) * scale

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        return np.dtype(dtype).itemsize + size


class OtherDtype(Halves):
    """Decodes to float64, whatever is asked for."""

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        return super().decode(payload, size, dtype).astype(np.float64)


class DecodesNothing(Halves):
    """Forgets its return statement."""

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> Any:
        super().decode(payload, size, dtype)


class EncodesNothing(Halves):
    def encode(self, x: np.ndarray, key: Key) -> Any:
        super().encode(x, key)


class OtherLength(Halves):
    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        return np.append(super().decode(payload, size, dtype), 0).astype(dtype)


class Raises(Halves):
    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        raise RuntimeError("no luck")
