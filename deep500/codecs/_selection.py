"""Codecs that send some of the values, and where they belong: the first part of a chain."""

from typing import Any

import numpy as np

from ..contracts.codec import Codec, Key, quiet
from ..errors import lacking

NOTHING = np.zeros(0, np.uint8)


class Selection(Codec):
    """A payload is the side information (positions, exact), then the values.

    In a chain another codec codes the values; the side information stays as it is.
    """

    def take(self, x: np.ndarray, key: Key) -> tuple[np.ndarray, np.ndarray]:
        """The values that are sent, and their side information as bytes."""
        raise lacking(self, "take")

    def positions(self, side: np.ndarray, size: int) -> np.ndarray:
        """Where the values belong, read from the side information; each place once."""
        raise lacking(self, "positions")

    def side_bytes(self, payload: np.ndarray, size: int) -> int:
        """The length of the side information at the beginning of this payload."""
        raise lacking(self, "side_bytes")

    def most_values(self, size: int) -> int:
        """How many values are sent: exactly with `fixed_size`, else at most."""
        raise lacking(self, "most_values")

    def most_side_bytes(self, size: int) -> int:
        """The length of the side information: exactly with `fixed_size`, else at most."""
        raise lacking(self, "most_side_bytes")

    def least_side_bytes(self, size: int) -> int:
        return self.most_side_bytes(size)

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        values, side = self.take(x, key)
        return np.concatenate([side, values.view(np.uint8)])

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        decoded = np.zeros(size, dtype)
        self.accumulate(payload, decoded)
        return decoded

    def accumulate(
        self, payload: np.ndarray, total: np.ndarray, weight: float = 1.0
    ) -> None:
        self.check_payload(payload, total.size, total.dtype)
        boundary = self.side_bytes(payload, total.size)
        values = payload[boundary:].view(total.dtype)
        places = self.positions(payload[:boundary], total.size)
        with quiet():
            total[places] += values * total.dtype.type(weight)

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        values = self.most_values(size) * np.dtype(dtype).itemsize
        return self.most_side_bytes(size) + values

    def least_wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        if self.fixed_size:
            return self.wire_bytes(size, dtype)
        return self.least_side_bytes(size)
