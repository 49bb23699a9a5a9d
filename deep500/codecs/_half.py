"""Floats of 16 bits, which an allreduce can add up."""

from collections.abc import Generator, Sequence
from typing import Any, ClassVar

import ml_dtypes  # noqa: F401 - makes "bfloat16" a dtype of NumPy
import numpy as np

from ..contracts.codec import (
    Codec,
    Exchange,
    Key,
    Request,
    State,
    SumRequest,
    quiet,
)
from ..contracts.device_codec import DeviceCodec
from ..contracts.layout import Slot
from ._native import call

BYTES = 2


class Half(Codec):
    """Rounds to the nearest; each rank divides by the number of ranks before it rounds, so that sums stay in range."""

    dtype: ClassVar[str]
    to_half: ClassVar[str]
    from_half: ClassVar[str]

    linear = True

    def on_device(self) -> DeviceCodec:
        from ._summing_on_device import HalfOnDevice

        return HalfOnDevice(self)

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        return self.compress(x, key).view(np.uint8)

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        self.check_payload(payload, size, dtype)
        return self._widened(payload.view(self.dtype), dtype)

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        return BYTES * size

    def compress(self, x: np.ndarray, key: Key) -> np.ndarray:
        form = np.empty(x.size, self.dtype)
        if x.dtype != np.float32 or not call(self.to_half, x, x.size, form):
            with quiet():
                form[:] = x.astype(self.dtype)
        return form

    def expand(self, form: np.ndarray, size: int, dtype: Any, key: Key) -> np.ndarray:
        return self._widened(form, dtype)

    def exchange(
        self, x: np.ndarray, state: State, key: Key, slots: Sequence[Slot]
    ) -> Generator[Request, Any, Exchange]:
        total = yield SumRequest(self.compress(_share(x, key), key))
        return Exchange(self._widened(total, x.dtype), x)

    def contribution(self, x: np.ndarray, key: Key) -> np.ndarray:
        rounded = self.compress(_share(x, key), key)
        return self._widened(rounded, x.dtype) * x.dtype.type(key.ranks)

    def _widened(self, form: np.ndarray, dtype: Any) -> np.ndarray:
        wide = np.empty(form.size, dtype)
        is_single = wide.dtype == np.float32
        if is_single and call(self.from_half, form, form.size, wide):
            return wide
        wide[:] = form.astype(dtype)
        return wide


def _share(x: np.ndarray, key: Key) -> np.ndarray:
    """This rank's part of the mean."""
    if key.ranks == 1:
        return x
    return x / x.dtype.type(key.ranks)
