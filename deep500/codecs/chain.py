"""Two codecs, one behind the other: `TopK(0.01) | QSGD(bits=4)`."""

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from ..contracts.codec import Codec, Exchange, Key, Request, State, quiet
from ..contracts.layout import Slot
from ..errors import Deep500Error
from ._selection import Selection


class Chain(Codec):
    """The first selects values, the second codes them; where they belong is kept exactly."""

    first: Codec
    second: Codec

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.first, Selection):
            raise Deep500Error(
                f"{self.first} | {self.second}: the first selects no values that the second could "
                "code; begin a chain with TopK, Threshold or RandomK, or end it with Lossless"
            )

    def __str__(self) -> str:
        return f"{self.first} | {self.second}"

    @property
    def selection(self) -> Selection:
        assert isinstance(self.first, Selection)
        return self.first

    @property
    def linear(self) -> bool:
        return self.first.linear and self.second.linear

    @property
    def unbiased(self) -> bool:
        return self.first.unbiased and self.second.unbiased

    @property
    def contraction(self) -> float | None:
        """A share delta of the square is selected at least; of it the second loses a part, in the mean."""
        delta, loss = self.first.contraction, _loss(self.second)
        if delta is None or loss is None or loss >= 1:
            return None
        return delta * (1 - loss)

    @property
    def variance(self) -> float | None:
        if self.first.variance is None or self.second.variance is None:
            return None
        return (1 + self.first.variance) * (1 + self.second.variance) - 1

    @property
    def fixed_size(self) -> bool:
        return self.first.fixed_size and self.second.fixed_size

    @property
    def error_feedback(self) -> bool:
        return self.first.error_feedback or self.second.error_feedback

    @property
    def largest(self) -> float:
        return min(self.first.largest, self.second.largest)

    @property
    def most_ranks(self) -> int | None:
        return self.second.most_ranks

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        values, side = self.selection.take(x, key)
        return np.concatenate([side, self.second.encoded(values, key)])

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        decoded = np.zeros(size, dtype)
        self.accumulate(payload, decoded)
        return decoded

    def accumulate(
        self, payload: np.ndarray, total: np.ndarray, weight: float = 1.0
    ) -> None:
        self.check_payload(payload, total.size, total.dtype)
        boundary = self.selection.side_bytes(payload, total.size)
        places = self.selection.positions(payload[:boundary], total.size)
        values = self.second.decoded(payload[boundary:], places.size, total.dtype)
        with quiet():
            total[places] += values * total.dtype.type(weight)

    def compress(self, x: np.ndarray, key: Key) -> np.ndarray:
        return self.second.compress(self.selection.take(x, key)[0], key)

    def expand(self, form: np.ndarray, size: int, dtype: Any, key: Key) -> np.ndarray:
        count = self.selection.most_values(size)
        values = self.second.expanded(form, count, dtype, key)
        return self.first.expand(values, size, dtype, key)

    def exchange(
        self, x: np.ndarray, state: State, key: Key, slots: Sequence[Slot]
    ) -> Generator[Request, Any, Exchange]:
        """Where all ranks select the same places, the second codec averages the values in its own way."""
        if not self.linear:
            return (yield from super().exchange(x, state, key, slots))
        values, side = self.selection.take(x, key)
        selected = yield from self.second.exchange(values, state, key, ())
        residual = x.copy()
        if self.error_feedback:
            places = self.selection.positions(side, x.size)
            with quiet():
                residual[places] -= self.second.contribution(values, key)
        mean = self.first.expand(selected.mean, x.size, x.dtype, key)
        return Exchange(mean, residual, selected.memory)

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        values = self.selection.most_values(size)
        side_bytes = self.selection.most_side_bytes(size)
        return side_bytes + self.second.wire_bytes(values, dtype)

    def least_wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        if not self.first.fixed_size:
            return self.selection.least_side_bytes(size)
        values = self.selection.most_values(size)
        least = self.second.least_wire_bytes(values, dtype)
        return self.selection.most_side_bytes(size) + least

    def aggregate_bytes(
        self, size: int, dtype: Any = "float32", slots: Sequence[Slot] = ()
    ) -> int:
        if not self.linear:
            return self.wire_bytes(size, dtype)
        return self.second.aggregate_bytes(self.selection.most_values(size), dtype)


def _loss(codec: Codec) -> float | None:
    """The share of the square that a codec loses at most, in the mean."""
    if codec.variance is not None:
        return codec.variance
    return None if codec.contraction is None else 1 - codec.contraction
