"""The numbers above a fixed magnitude, with their places (Strom, 2015)."""

import math

import numpy as np

from ..contracts.codec import Key
from ..errors import Deep500Error
from ._selection import Selection

COUNT_BYTES = 4
INDEX_BYTES = 4


class Threshold(Selection):
    """Every number whose magnitude is at least `value`, which must be above 0; NaN is sent, too.

    A payload begins with how many there are.
    """

    value: float = 0.001

    fixed_size = False
    error_feedback = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.value < math.inf:
            raise Deep500Error(
                f"value of Threshold is {self.value}: give a number above 0"
            )

    def take(self, x: np.ndarray, key: Key) -> tuple[np.ndarray, np.ndarray]:
        small = np.abs(x) < x.dtype.type(self.value)
        places = np.flatnonzero(~small)
        count = np.array([places.size], np.uint32)
        side = np.concatenate([count, places.astype(np.uint32)])
        return x[places], side.view(np.uint8)

    def positions(self, side: np.ndarray, size: int) -> np.ndarray:
        places = side[COUNT_BYTES:].view(np.uint32).astype(np.int64)
        rising = np.diff(places) > 0
        if places.size and (places[-1] >= size or not rising.all()):
            raise Deep500Error(
                f"a payload of {self} names places that are not in order"
            )
        return places

    def side_bytes(self, payload: np.ndarray, size: int) -> int:
        count = int(payload[:COUNT_BYTES].view(np.uint32)[0])
        boundary = COUNT_BYTES + count * INDEX_BYTES
        if count > size or boundary > payload.size:
            raise Deep500Error(
                f"a payload of {self} is cut off: {count} numbers do not fit in"
            )
        return boundary

    def accumulate(
        self, payload: np.ndarray, total: np.ndarray, weight: float = 1.0
    ) -> None:
        self.check_payload(payload, total.size, total.dtype)
        boundary = self.side_bytes(payload, total.size)
        values = (boundary - COUNT_BYTES) // INDEX_BYTES * total.dtype.itemsize
        if payload.size != boundary + values:
            raise Deep500Error(
                f"a payload of {self} has {payload.size} bytes, not the number it begins with"
            )
        super().accumulate(payload, total, weight)

    def most_values(self, size: int) -> int:
        return size

    def most_side_bytes(self, size: int) -> int:
        return COUNT_BYTES + size * INDEX_BYTES

    def least_side_bytes(self, size: int) -> int:
        return COUNT_BYTES
