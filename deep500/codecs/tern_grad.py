"""Three values, -1, 0 and 1, times a scale that all ranks share (Wen et al., TernGrad, 2017)."""

import math
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from ..contracts.codec import (
    Codec,
    Exchange,
    GatherRequest,
    Key,
    Request,
    State,
    SumRequest,
    quiet,
)
from ..contracts.layout import Slot
from ..errors import Deep500Error
from ._native import call, width
from ._random import uniform
from ._sums import moments

DIGITS = 5  # ternary digits in a byte: 3**5 = 243


class TernGrad(Codec):
    """The sign of a number with a probability of its magnitude over the scale, else 0.

    Numbers are first cut off at `clip` standard deviations (0: not at all), which makes
    the codec biased. The scale is the largest magnitude of all ranks. Five digits lie in a
    byte; with `summed` the digits are int8 that an allreduce adds up, of 127 ranks at most.
    """

    clip: float = 2.5
    summed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.clip < math.inf:
            raise Deep500Error(
                f"clip of TernGrad is {self.clip}: give 0 (no clipping) or more"
            )

    @property
    def linear(self) -> bool:
        return self.summed

    @property
    def unbiased(self) -> bool:
        return self.clip == 0

    @property
    def most_ranks(self) -> int | None:
        return 127 if self.summed else None

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        clip, scale = self._clip_and_scale(x)
        digits = self._digits(x, clip, scale, key)
        return np.concatenate([_as_bytes(scale), _packed(digits)])

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        self.check_payload(payload, size, dtype)
        scale, packed = _parts(payload, dtype)
        decoded = np.empty(size, dtype)
        if not call(f"ternary_decode{width(dtype)}", packed, size, scale, decoded):
            decoded[:] = _unpacked(packed, size).astype(dtype) * scale
        return decoded

    def accumulate(
        self, payload: np.ndarray, total: np.ndarray, weight: float = 1.0
    ) -> None:
        self.check_payload(payload, total.size, total.dtype)
        scale, packed = _parts(payload, total.dtype)
        factor = total.dtype.type(weight)
        loop = f"ternary_add{width(total.dtype)}"
        if not call(loop, packed, total.size, scale, factor, total):
            super().accumulate(payload, total, weight)

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        return np.dtype(dtype).itemsize + -(-size // DIGITS)

    def aggregate_bytes(
        self, size: int, dtype: Any = "float32", slots: Sequence[Slot] = ()
    ) -> int:
        if self.summed:
            return np.dtype(dtype).itemsize + size
        return self.wire_bytes(size, dtype)

    def exchange(
        self, x: np.ndarray, state: State, key: Key, slots: Sequence[Slot]
    ) -> Generator[Request, Any, Exchange]:
        """The scales first, of which all take the largest; then the digits."""
        clip, scale = self._clip_and_scale(x)
        scales = yield GatherRequest(_as_bytes(scale))
        shared = np.concatenate(scales).view(x.dtype).max()
        digits = self._digits(x, clip, shared, key)
        if self.summed:
            total = yield SumRequest(digits.astype(np.int8) - np.int8(1))
            mean = total.astype(x.dtype) * (shared / x.dtype.type(key.ranks))
            return Exchange(mean, x)
        payloads = yield GatherRequest(_packed(digits))
        scaled = [np.concatenate([_as_bytes(shared), payload]) for payload in payloads]
        return Exchange(self.mean(scaled, x.size, x.dtype), x)

    def _clip_and_scale(self, x: np.ndarray) -> tuple[np.floating, np.floating]:
        """Where numbers are cut off, and the largest magnitude behind that; NaN if x is not finite."""
        largest = np.abs(x).max(initial=0)
        if not np.isfinite(largest):
            return x.dtype.type(math.inf), x.dtype.type(math.nan)
        clip = x.dtype.type(math.inf)
        if self.clip and x.size:
            with quiet():
                total, squares = moments(x)
                deviation = math.sqrt(
                    max(0.0, squares / x.size - (total / x.size) ** 2)
                )
                clip = x.dtype.type(self.clip * deviation)
        if not clip > 0:  # all numbers are equal: there is nothing to cut off
            clip = x.dtype.type(math.inf)
        return clip, min(largest, clip)

    def _digits(
        self, x: np.ndarray, clip: np.floating, scale: np.floating, key: Key
    ) -> np.ndarray:
        """0, 1 and 2 for -1, 0 and 1."""
        if not scale > 0:
            return np.ones(x.size, np.uint8)
        digits = np.empty(x.size, np.uint8)
        words = key.words()
        loop = f"ternary_encode{width(x.dtype)}"
        if call(loop, x, x.size, clip, scale, *words, digits):
            return digits
        chance = np.minimum(np.abs(x), clip) / scale
        one = (chance + uniform(words, x.size, x.dtype) >= 1).astype(np.uint8)
        digits[:] = np.where(x < 0, 1 - one, 1 + one)
        return digits


def _as_bytes(scale: np.floating) -> np.ndarray:
    return np.array([scale]).view(np.uint8)


def _parts(payload: np.ndarray, dtype: Any) -> tuple[np.floating, np.ndarray]:
    boundary = np.dtype(dtype).itemsize
    return payload[:boundary].view(dtype)[0], payload[boundary:]


def _packed(digits: np.ndarray) -> np.ndarray:
    packed = np.zeros(-(-digits.size // DIGITS), np.uint8)
    if not call("pack_fives", digits, digits.size, packed):
        padded = np.zeros(packed.size * DIGITS, np.uint8)
        padded[: digits.size] = digits
        columns = padded.reshape(-1, DIGITS)
        for place in range(DIGITS):
            packed += columns[:, place] * np.uint8(3**place)
    return packed


def _unpacked(packed: np.ndarray, size: int) -> np.ndarray:
    """The values -1, 0 and 1."""
    columns = np.empty((packed.size, DIGITS), np.int8)
    rest = packed
    for place in range(DIGITS):
        columns[:, place] = (rest % np.uint8(3)).astype(np.int8) - np.int8(1)
        rest = rest // np.uint8(3)
    return columns.reshape(-1)[:size]
