"""Numbers at random places, which all ranks choose alike: their sums can be added up."""

import math
from typing import Any

import numpy as np

from ..contracts.codec import Key, quiet
from ..errors import Deep500Error
from ._random import words64
from ._selection import Selection

KEY_BYTES = 8


class RandomK(Selection):
    """One number of each of k stretches of equal length (to within 1), k = `ratio` of the size, rounded up.

    The places follow from the key that all ranks share; a payload begins with it. With
    `scaled` each number is multiplied by the length of its stretch: unbiased, and without
    error feedback. Where the input has a number that is not finite, NaN is sent.
    """

    ratio: float = 0.01
    scaled: bool = False

    linear = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.ratio <= 1:
            raise Deep500Error(
                f"ratio of RandomK is {self.ratio}: give a share above 0 and up to 1"
            )

    @property
    def unbiased(self) -> bool:
        return self.scaled

    @property
    def error_feedback(self) -> bool:
        return not self.scaled

    @property
    def variance(self) -> float | None:
        """A number x in a stretch of m is 0 or m x: the square of the error is (m - 1) x² in the mean."""
        return math.ceil(1 / self.ratio) - 1.0 if self.scaled else None

    @property
    def contraction(self) -> float | None:
        return None if self.scaled else 1 / math.ceil(1 / self.ratio)

    def take(self, x: np.ndarray, key: Key) -> tuple[np.ndarray, np.ndarray]:
        side = np.array(key.shared_words(), np.uint32).view(np.uint8)
        places = self.positions(side, x.size)
        values = x[places]
        if self.scaled:
            values *= np.diff(self._bounds(x.size)).astype(x.dtype)
        if not _all_finite(x):
            values[:] = np.nan
        return values, side

    def positions(self, side: np.ndarray, size: int) -> np.ndarray:
        first, second = side.view(np.uint32).tolist()
        bounds = self._bounds(size)
        lengths = np.diff(bounds).astype(np.uint64)
        draws = words64((first, second), self.most_values(size))
        offsets = draws % np.maximum(lengths, np.uint64(1))
        return bounds[:-1] + offsets.astype(np.int64)

    def _bounds(self, size: int) -> np.ndarray:
        """Where the stretches begin, and where the last ends."""
        count = self.most_values(size)
        return np.arange(count + 1, dtype=np.int64) * size // max(1, count)

    def side_bytes(self, payload: np.ndarray, size: int) -> int:
        return KEY_BYTES

    def most_values(self, size: int) -> int:
        return min(size, math.ceil(self.ratio * size - 1e-9))

    def most_side_bytes(self, size: int) -> int:
        return KEY_BYTES

    def aggregate_bytes(
        self, size: int, dtype: Any = "float32", slots: Any = ()
    ) -> int:
        """Without the key, which all ranks have."""
        return self.wire_bytes(size, dtype) - KEY_BYTES

    def compress(self, x: np.ndarray, key: Key) -> np.ndarray:
        return self.take(x, key)[0]

    def expand(self, form: np.ndarray, size: int, dtype: Any, key: Key) -> np.ndarray:
        side = np.array(key.shared_words(), np.uint32).view(np.uint8)
        expanded = np.zeros(size, dtype)
        expanded[self.positions(side, size)] = form
        return expanded


def _all_finite(x: np.ndarray) -> bool:
    with quiet():
        squares = np.dot(x, x)
    return bool(np.isfinite(squares)) or bool(np.isfinite(x).all())
