"""No compression: the buffer as it is."""

from typing import Any

import numpy as np

from ..contracts.codec import Codec, Key
from ..contracts.device_codec import DeviceCodec


class Identity(Codec):
    """The bytes of the buffer themselves: the baseline of every comparison."""

    linear = True
    unbiased = True
    variance = 0.0
    contraction = 1.0

    def on_device(self) -> DeviceCodec:
        from ._summing_on_device import IdentityOnDevice

        return IdentityOnDevice(self)

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        return x.copy().view(np.uint8)

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        self.check_payload(payload, size, dtype)
        return payload.view(dtype).copy()

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        return size * np.dtype(dtype).itemsize

    def compress(self, x: np.ndarray, key: Key) -> np.ndarray:
        return x

    def expand(self, form: np.ndarray, size: int, dtype: Any, key: Key) -> np.ndarray:
        return form
